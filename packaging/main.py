"""Starts the command of an installation; there this file is LIBDIR/lockswap/harness/__main__.py."""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "packages"))

from lockswap.__main__ import main

sys.exit(main())
