"""What a changed file of C or C++ reaches, by the build's own graph: ninja's edges, and its record of the includes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

LOCK_UNIT = re.compile(r"/lists/(?:registry/)?(rw|mutex)_(?:cases_|stress_)?([A-Z]\w*)\.cpp\.o$")
# The two units that include every lock's header; of an edit in one they take what the lock says of itself.
OF_ALL_LOCKS = re.compile(r"/registry/(rwlocks|mutexes)\.cpp\.o$")


class Graph:
    def __init__(self, build: Path) -> None:
        self.build = build
        self.inputs: dict[str, list[str]] = {}  # without those that only have to be there before
        self.includes: dict[str, set[str]] = {}  # object -> files, from the last time it was compiled
        self.outputs: set[str] = set()
        self.linked: set[str] = set()  # programs and libraries
        self.programs: dict[str, str] = {}  # what the build calls each of these, by the file's name
        self._read_includes()
        self._query(self.outputs)
        self.of_test = self.made_for(["all", "tests"])  # what `./run.sh test` builds

    def _ninja(self, *words: str) -> list[str]:
        command = ["ninja", "-C", str(self.build), "-t", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()

    def _read_includes(self) -> None:
        seen: set[str] = set()
        whole = cache(lambda name: os.path.normpath(self.build / name))  # few names, each in many lines
        for line in self._ninja("deps"):
            if line.startswith("    "):
                seen.add(whole(line[4:]))
            elif ": #deps" in line:
                seen = self.includes[line.partition(":")[0]] = set()
        for line in self._ninja("targets", "all"):
            name, _, rule = line.rpartition(": ")
            self.outputs.add(name)
            if "LINKER" in rule and not name.startswith("try/"):
                self.linked.add(name)
                self.programs[Path(name).name] = name

    def target(self, word: str) -> str | None:
        """The name that ninja has for a file of the build."""
        for name in (os.path.relpath(word, self.build), word):
            if name in self.outputs:
                return name
        return None

    def targets_in(self, folder: str) -> list[str]:
        """The programs and libraries that the build puts into this folder; into its own, those that users have."""
        relative = os.path.relpath(folder, self.build)
        folders = {".", "apps", "bin"} if relative == "." else {relative}
        inside = [name for name in self.linked if Path(name).parent.as_posix() in folders]
        # The explorers are large: whatever runs one names it.
        return sorted(name for name in inside if not Path(name).name.startswith("lockswap-explore"))

    def _query(self, targets: Iterable[str]) -> None:
        wanted = sorted({name for name in targets if name not in self.inputs and name in self.outputs})
        for start in range(0, len(wanted), 200):
            current: list[str] = []
            is_input = False
            for line in self._ninja("query", *wanted[start : start + 200]):
                if not line.startswith(" "):
                    current = self.inputs.setdefault(line.rstrip(":"), [])
                elif not line.startswith("    "):
                    is_input = line.strip().startswith("input:")
                elif is_input and not line.strip().startswith("||"):
                    current.append(line.strip().removeprefix("| "))

    def changed_parts(self, changed: set[str]) -> dict[str, set[str]]:
        """For each object, or source, that has something of `changed` in it: what the build makes of it."""
        parts = {name for name, files in self.includes.items() if files & changed}
        parts |= {os.path.relpath(name, self.build) for name in changed} | changed
        users: dict[str, set[str]] = {}
        for name, inputs in self.inputs.items():
            for one in inputs:
                users.setdefault(one, set()).add(name)
        found = {}
        for part in parts:
            made, left = set(), [part]
            while left:
                one = left.pop()
                if one not in made:
                    made.add(one)
                    left.extend(users.get(one, ()))
            if len(made) > 1 or part in self.outputs:
                found[part] = made
        return found

    def made_for(self, targets: Iterable[str]) -> set[str]:
        """These, and all that they are made of."""
        seen, left = set(), list(targets)
        while left:
            one = left.pop()
            if one not in seen:
                seen.add(one)
                left.extend(self.inputs.get(one, ()))
        return seen

    def objects_of(self, targets: Iterable[str]) -> set[str]:
        return {name for name in self.made_for(targets) if name.endswith(".o")}


def classes_of(parts: set[str]) -> set[tuple[str, str]] | None:
    """The locks, as (rw, Ba), if nothing but their own units is among the parts; else None."""
    units = {match.groups() for part in parts if (match := LOCK_UNIT.search(part))}
    others = [part for part in parts if not LOCK_UNIT.search(part) and not OF_ALL_LOCKS.search(part)]
    others = [part for part in others if part.endswith(".o")]
    return None if others else units
