"""The command `whatif`: what a program pays for longer holds of its locks."""
