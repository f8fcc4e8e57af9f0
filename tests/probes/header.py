"""sys/sdt.h may be missing where the library is built: it has no probes then, and there is nothing to test of them."""

import subprocess

import pytest


def is_there() -> bool:
    """For the compiler, which also looks in places of its own."""
    asked = ["c++", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(asked, input="#include <sys/sdt.h>\n", capture_output=True, text=True).returncode == 0


needed = pytest.mark.skipif(not is_there(), reason="no sys/sdt.h, so the library is built without probes")
