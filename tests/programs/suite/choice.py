"""Which locks a case runs under."""

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from suite.case import Case
from suite.stage import Under

AT_A_TURN = 3


def combinations(case: Case, locks: Sequence[str]) -> list[Under]:
    """All locks under all wait policies of the case. The pass-through waits as glibc does, whatever was chosen."""
    return [Under(lock, wait) for wait in case.waits for lock in locks if lock != "pthread" or wait == "park"]


def turn(case: Case, locks: Sequence[str], commit: str) -> list[Under]:
    """Some of them, others with each commit and for each case, so that all come round."""

    def place(under: Under) -> bytes:
        return hashlib.sha256(f"{commit} {case.name} {under}".encode()).digest()

    return sorted(combinations(case, locks), key=place)[:AT_A_TURN]


def commit_of(folder: Path) -> str:
    """The commit that is checked out; a fixed word where there is no git."""
    try:
        return subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "none"
