"""Runs unmodified programs with the library and without, and compares."""
