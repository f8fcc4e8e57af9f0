"""One run of one program: prepared, started, measured and ended; and the machine that it runs on."""
