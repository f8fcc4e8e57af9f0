"""What goes to a worker, and what comes back: plain data, so that both sides may have been started by any Python."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from lockswap.base.errors import UserError


@dataclass(frozen=True)
class Order:
    """A part of a campaign, which a worker measures alone on its machine."""

    campaign: str  # campaign.toml of a campaign that nobody has begun
    version: str  # of lockswap, since two versions don't measure the same
    cwd: str  # in which a command of the user's own runs
    settings: dict[str, str] = field(default_factory=dict)  # LOCKSWAP_ variables of the user


@dataclass(frozen=True)
class Answer:
    """`files` of the part's folder, by their names in it. `problem` says why there are none, or why another machine may
    have better ones."""

    files: dict[str, bytes] = field(default_factory=dict)
    problem: str = ""


def label(text: str) -> str:
    """A name as it may stand in names of files and workloads."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "machine"


def checked_name(name: str) -> str:
    """A file's name in a folder, which doesn't lead out of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise UserError(f"a worker sent a file with the name '{name}', which is not in the campaign's folder")
    return name
