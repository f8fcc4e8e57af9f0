#!/usr/bin/env python3
"""Run the conformance under an observer, whose files go to a folder that is removed afterwards.

observed.py OBSERVER LIBRARY PROGRAM [OPTION]...

LIBRARY is liblockswap.so; the other observers' libraries lie beside it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# The library, and the variable that makes it one. {} stands for the folder.
OBSERVERS = {
    "counting": ("liblockswap-counting.so", "COUNTED_CALLS", "{}/calls"),
    "profile": ("liblockswap.so", "LOCKSWAP_PROFILE", "{}"),
    "metrics": ("liblockswap.so", "LOCKSWAP_METRICS", "{}"),
    "metrics-holds": ("liblockswap.so", "LOCKSWAP_METRICS", "{}"),
    "record": ("liblockswap.so", "LOCKSWAP_RECORD", "{}"),
    "stats": ("liblockswap.so", "LOCKSWAP_STATS", "{}/stats"),
    "delay": ("liblockswap.so", "LOCKSWAP_DELAY", "module=*:+1us"),
    "audit": ("liblockswap-audit.so", "LOCKSWAP_AUDIT", "{}/audit"),
    # Nothing but time; and the seed chooses the next thread. It prefers no kind of point.
    "fuzz": ("liblockswap-fuzz.so", "LOCKSWAP_FUZZ", "3,percent=1,delay=20,no-turns"),
    "fuzz-turns": ("liblockswap-fuzz.so", "LOCKSWAP_FUZZ", "3,percent=1,delay=20"),
}

MORE = {"metrics-holds": {"LOCKSWAP_METRICS_HOLDS": "1"}}

name, library, program, *options = sys.argv[1:]
observer, variable, value = OBSERVERS[name]
with tempfile.TemporaryDirectory() as folder:
    command = [program, "--preload", str(Path(library).with_name(observer)), *options]
    environment = os.environ | {variable: value.format(folder)} | MORE.get(name, {})
    sys.exit(subprocess.run(command, env=environment, check=False).returncode)
