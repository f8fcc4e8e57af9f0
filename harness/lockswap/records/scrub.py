"""Texts are written down without what belongs to this user or machine."""

import os
import re
from pathlib import Path


def from_here(word: str) -> str:
    """A word of a command as it is written down: a path below the current folder without what lies above it."""
    here = f"{Path.cwd()}/"
    if here == "//" or not word.startswith(here):
        return scrub(word)
    below = word.removeprefix(here)
    return scrub(below if "/" in below else f"./{below}")


def scrub(text: str, root: Path | None = None) -> str:
    """Take out what belongs to this user or machine: the home folder, the checkout, scratch folders."""
    if root is not None:
        text = text.replace(str(root), "<lockswap>")
    home = os.environ.get("HOME", "").rstrip("/")
    if home:
        text = re.sub(re.escape(home) + r"(?=[/\s:'\"]|$)", "~", text)
    return re.sub(r"(?:/dev/shm|/tmp)/lockswap-\w+", "<scratch>", text)
