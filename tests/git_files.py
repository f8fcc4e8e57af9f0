"""The project's files, as git knows them. A test that asks for them is skipped where there is no checkout."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Whoever runs the tests trusts the tree, also if it is another user's.
GIT = ("git", "-c", "safe.directory=*", "-C", str(ROOT))


def is_checkout() -> bool:
    return (ROOT / ".git").exists() and shutil.which("git") is not None


def need_checkout() -> None:
    if not is_checkout():
        pytest.skip("needs git, and a git checkout: it asks which files are the project's", allow_module_level=True)


def git_files(*patterns: str | Path, untracked: bool = True) -> list[str]:
    """Names of the files that git knows or, if `untracked`, would add, relative to the root."""
    need_checkout()
    more = ["--others", "--exclude-standard"] if untracked else []
    command = [*GIT, "ls-files", "-z", "--cached", *more, "--deduplicate", "--", *map(str, patterns)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name]
