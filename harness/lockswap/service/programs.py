"""The programs that a unit starts: whether a library can be preloaded into them."""

import os
import shlex
from pathlib import Path

from lockswap.doctor import command
from lockswap.doctor.finding import STOPS, Finding, stops
from lockswap.service.settings import Settings

_PREFIXES = "@-:+!|"  # of ExecStart=


def findings(settings: Settings, root: Path | None) -> list[Finding]:
    found = []
    for line in settings.all("ExecStart"):
        words = _words(line.lstrip(_PREFIXES))
        path = Path(f"{root or ''}{words[0]}") if words and words[0].startswith("/") else None
        if path is None or not path.is_file():
            continue
        found += [one for one in command.of_files(path, [str(path), *words[1:]]) if one.level == STOPS]
        if settings.last("User") not in ("", "root", "0") and _has_capabilities(path):
            found.append(
                stops(
                    "program",
                    f"'{path.name}' has file capabilities, so the loader ignores LD_PRELOAD: take them off, and give "
                    "the unit AmbientCapabilities= instead",
                )
            )
    return list(dict.fromkeys(found))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _has_capabilities(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False
