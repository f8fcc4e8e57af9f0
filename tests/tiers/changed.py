"""Which entries an edit reaches, and which of these `./run.sh test --changed` runs."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import costs
from entries import ROOT, TESTS, Entry
from graph import Graph, classes_of
from imports import Modules, is_cpp
from state import git

# CPU seconds for the entries, and for compiling what they run: if something compiled changed, if not, for documents.
BUDGET, BUDGET_OF_PYTHON, BUDGET_OF_DOCUMENTS = 150.0, 55.0, 12.0
OTHERS = 0.2  # of that at most for what only runs the library in which a lock has changed
COMPILING = 3.0  # CPU seconds of a unit
MOST_TRIED = 2  # locks
PRELOADED = {"liblockswap.so", "liblockswap-audit.so", "liblockswap-fuzz.so"}  # by `lockswap`, which has their names
LINE = re.compile(r'^(RW_LOCK|MUTEX|MUTEX_NAME)\("([^"]+)", (\w+), "([^"]+)"', re.MULTILINE)
# What decides which tests there are, or how all is built: everything is reached.
OF_ALL = re.compile(
    r"^(CMakeLists\.txt|src/CMakeLists\.txt|src/lists\.cmake|tests/CMakeLists\.txt|interpose/CMakeLists\.txt)$"
)


def changed_files(base: str | None, root: Path = ROOT) -> tuple[str, list[str]]:
    """What differs from `base`: by default since the branch left main; on main since the last commit, or in it."""
    if base is None:
        ran = subprocess.run(
            ["git", "-C", str(root), "merge-base", "HEAD", "main"], capture_output=True, text=True, check=False
        )
        base = ran.stdout.strip()
        if not base or base == git("rev-parse", "HEAD", root=root):
            base = "HEAD" if git("status", "--porcelain", root=root) else "HEAD~1"
    names = git("diff", "--name-only", base, root=root).splitlines()
    names += git("ls-files", "--others", "--exclude-standard", root=root).splitlines()
    return base, sorted(set(names))


def lock_names(root: Path = ROOT) -> dict[str, tuple[str, str]]:
    """Names that a test may have in its own, with the kind and the class of the lock."""
    found: dict[str, tuple[str, str]] = {}
    for kind in ("mutex", "rw"):
        text = (root / f"src/registry/{kind}_list.def").read_text(encoding="utf-8")
        for _, name, its_class, _ in LINE.findall(text):
            for form in (name, f"bravo-{name}", f"bravo-asym-{name}") if kind == "rw" else (f"mutex/{name}",):
                found[form] = (kind, its_class)
    return found


def headers_of(changed: list[str], root: Path = ROOT) -> list[str]:
    """The locks whose own headers changed, as `./run.sh try` knows them."""
    found = []
    for kind in ("rw", "mutex"):
        text = (root / f"src/registry/{kind}_list.def").read_text(encoding="utf-8")
        found += [
            f"{kind}/{n}" for m, n, _, header in LINE.findall(text) if f"src/{header}" in changed and m != "MUTEX_NAME"
        ]
    return [name for name in found if name != "rw/pthread"]


def lock_in(name: str, known: dict[str, tuple[str, str]]) -> tuple[str, str] | None:
    """The lock that an entry's name has: stress/ba/park, conformance/mutex/mcs/park."""
    words = name.split("/")
    if "mutex" in words[:-1]:
        return known.get(f"mutex/{words[words.index('mutex') + 1]}")
    return next((known[word] for word in words[1:] if word in known), None)


@dataclass
class Reached:
    first: list[Entry] = field(default_factory=list)  # made of what changed, or named after a lock that did
    others: list[Entry] = field(default_factory=list)  # they run the library, whichever of its locks changed
    targets: dict[str, list[str]] = field(default_factory=dict)  # entry -> what must be built for it
    units: dict[str, set[str]] = field(default_factory=dict)  # entry -> the objects among that to compile


def outputs_of(entry: Entry, graph: Graph, modules: Modules) -> list[str]:
    """What the build must have made: the files and folders in a command; of a file of pytest, those that it names."""
    if entry.kind == "pytest":
        words = modules.words(entry.own_name) | (PRELOADED if modules.runs_the_command(entry.own_name) else set())
        return sorted({graph.programs[word] for word in words if word in graph.programs})
    targets = []
    for word in entry.words:
        word = word.rpartition("=")[2]  # of an assignment for env
        if not word.startswith("/"):
            continue
        if (target := graph.target(word)) is not None:
            targets.append(target)
        elif Path(word).is_dir() and Path(word).resolve().is_relative_to(graph.build):
            targets += graph.targets_in(word)
    if entry.own_name.startswith("explore-structures/"):
        targets.append("bin/lockswap-explore-structures")
    elif entry.own_name.startswith("explore-"):
        targets.append("bin/lockswap-explore")
    return targets


def scripts_of(entry: Entry, root: Path) -> list[str]:
    if entry.kind == "pytest":
        return [entry.own_name]
    words = (Path(word) for word in entry.words if word.endswith(".py"))
    return [word.relative_to(root).as_posix() for word in words if word.is_relative_to(root)]


def is_below(folder: str, others: set[str]) -> bool:
    return any(folder == other or folder.startswith(other + "/") for other in others)


class Changes:
    """What changed files reach: scripts by their imports, compiled programs by their parts."""

    def __init__(self, changed: list[str], graph: Graph, modules: Modules, root: Path) -> None:
        self.names, self.graph, self.modules, self.root = set(changed), graph, modules, root
        self.everything = any(OF_ALL.match(name) for name in changed)
        self.folders = {
            Path(name).parent.as_posix()
            for name in changed
            if name.startswith((*TESTS, "structures/")) and Path(name).name == "CMakeLists.txt"
        }
        absolute = {os.path.normpath(root / name) for name in changed}
        self.parts = graph.changed_parts(absolute) if any(map(is_cpp, changed)) else {}
        # What nearly all is run with is compiled in any case. What nobody has compiled yet must be, too.
        library = graph.objects_of(["liblockswap.so"])
        self.dirty = (set(self.parts) | (graph.objects_of(graph.outputs) - set(graph.includes))) - library

    def parts_of(self, targets: list[str]) -> set[str]:
        return {part for part, made in self.parts.items() if made.intersection(targets)}

    def reach_script(self, entry: Entry) -> bool:
        if self.everything or is_below(entry.folder, self.folders):
            return True
        return any(self.modules.reaches(script, self.names) for script in scripts_of(entry, self.root))


def reached(entries: list[Entry], changed: list[str], graph: Graph, modules: Modules, root: Path = ROOT) -> Reached:
    changes, found, known = Changes(changed, graph, modules, root), Reached(), lock_names(root)
    for entry in entries:
        if entry.kind == "part":
            continue
        targets = outputs_of(entry, graph, modules)
        parts = changes.parts_of(targets)
        if entry.kind == "pytest" and not parts:
            targets = [name for name in targets if not (graph.build / name).exists()]  # it takes what is there
        targets = [name for name in targets if name in graph.of_test]
        found.targets[entry.name] = targets
        found.units[entry.name] = graph.objects_of(targets) & changes.dirty
        locks, named = classes_of(parts) if parts else None, lock_in(entry.own_name, known)
        if changes.reach_script(entry) or (parts and (locks is None or (named is not None and named in locks))):
            found.first.append(entry)
        elif parts and named is None:
            found.others.append(entry)
    return found


def budget_for(changed: list[str]) -> float:
    if any(is_cpp(name) for name in changed):
        return BUDGET
    return BUDGET_OF_DOCUMENTS if all(name.endswith(".md") for name in changed) else BUDGET_OF_PYTHON


def choose(found: Reached, known: costs.Costs, budget: float) -> list[Entry]:
    """Chooses from those of `./run.sh test`: the cheapest first, the nearer ones before the others. What must be
    compiled for an entry counts, too, but only once."""
    chosen, spent, compiled = [], 0.0, set()
    for group, limit in ((found.first, budget), (found.others, budget * OTHERS)):
        of_test = [entry for entry in group if entry.tier == "test"]
        spent_here = 0.0
        for entry in sorted(of_test, key=lambda e: (costs.cost_of(e, "test", known), e.name)):
            units = found.units.get(entry.name, set())
            cost = costs.cost_of(entry, "test", known) + COMPILING * len(units - compiled)
            if spent + cost <= budget and spent_here + cost <= limit:
                chosen.append(entry)
                compiled |= units
                spent += cost
                spent_here += cost
    return chosen
