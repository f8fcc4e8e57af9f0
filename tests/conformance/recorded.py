#!/usr/bin/env python3
"""Run a command under LOCKSWAP_PROFILE, with a folder of its own that is removed afterwards.

recorded.py COMMAND...
"""

import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    environment = os.environ | {"LOCKSWAP_PROFILE": folder}
    sys.exit(subprocess.run(sys.argv[1:], env=environment, check=False).returncode)
