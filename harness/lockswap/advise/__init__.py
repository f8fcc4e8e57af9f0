"""The command `advise`: which locks of a program to swap, from a profile and an experiment."""
