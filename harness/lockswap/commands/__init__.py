"""The command line: one file per command, which declares its options and help and calls the code that does the work.

Modules that do the work are imported inside the functions, so that `run` starts fast.
"""
