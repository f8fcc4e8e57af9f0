"""The command `trace-vm`: which mapping calls a program makes, and which pages it touches, by thread."""
