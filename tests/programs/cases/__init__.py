"""The programs. Each module here is imported, and registers what it has with `@case`; docs/programs.md says how to add one."""
