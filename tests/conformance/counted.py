#!/usr/bin/env python3
"""Check that an observer sees each call of a program, once.

counted.py OBSERVER PROGRAM
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

observer, program = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    counts = Path(folder) / "counts"
    environment = os.environ | {"LD_PRELOAD": observer, "COUNTED_CALLS": str(counts)}
    made = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    seen = counts.read_text().splitlines()
for line in sorted(set(made) ^ set(seen)):
    print(f"{'not seen' if line in made else 'seen, but not made'}: {line}")
sys.exit(sorted(made) != sorted(seen))
