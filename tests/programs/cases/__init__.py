"""The programs. Each module here is imported and registers its cases; docs/programs.md says how to add one."""
