"""What the command line takes: a file for each command, which says its options and help, and calls what does the work.

Modules that do the work are imported inside the functions, so that `run` starts fast.
"""
