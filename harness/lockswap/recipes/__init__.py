"""What a workload is, read from TOML, and what the output of its program means."""
