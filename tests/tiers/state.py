"""What was run of which tree: build/tested/TREE.tsv, a line for each entry that ended.

A tree is named by what git would call it if all of it were committed, so the same files have the same name whether they
are committed or not. A run that is interrupted has lost only what was under way.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import costs
from entries import ROOT, Entry

DONE = ("passed", "skipped")


def git(*words: str, root: Path = ROOT, **environment: str) -> str:
    command = ["git", "-C", str(root), *words]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | environment)
    return ran.stdout.strip()


def tree(root: Path = ROOT) -> str:
    """The hash of the files as they are, with what isn't committed and without what is ignored."""
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": f"{folder}/index"}
        git("read-tree", "HEAD", root=root, **index)
        git("add", "--all", root=root, **index)
        return git("write-tree", root=root, **index)


@dataclass(frozen=True)
class Result:
    result: str
    name: str
    cpu: float


def results(file: Path) -> list[Result]:
    if not file.exists():
        return []
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    # What was being written when the machine stopped is no result.
    return [Result(row[0], row[1], float(row[2])) for row in rows if len(row) == 4]


def file_of(build: Path, root: Path = ROOT) -> Path:
    """Made with its head if this tree has none yet."""
    name = tree(root)
    file = build / "tested" / f"{name[:16]}.tsv"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        is_dirty = name != git("rev-parse", "HEAD^{tree}", root=root)
        head = f"# tree {name}, commit {git('rev-parse', 'HEAD', root=root)}{', with changes' if is_dirty else ''}\n"
        file.write_text(head + "# result, entry, CPU seconds, seconds by the clock\n", encoding="utf-8")
    return file


def add(file: Path, result: str, name: str, cpu: float = 0, clock: float = 0) -> None:
    with file.open("a", encoding="utf-8") as out:
        out.write(f"{result}\t{name}\t{cpu:.2f}\t{clock:.2f}\n")


def left(entries: Iterable[Entry], file: Path) -> list[Entry]:
    """Those that have not passed in this tree: never run, or failed the last time."""
    last = {result.name: result.result for result in results(file)}
    return [entry for entry in entries if last.get(entry.name) not in DONE]


def measured(file: Path, tier: str) -> costs.Costs:
    return {(tier, result.name): result.cpu for result in results(file) if result.result in DONE}
