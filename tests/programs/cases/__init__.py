"""The programs. Each module here is imported and registers its cases; tests/programs/README.md says how to add one."""
