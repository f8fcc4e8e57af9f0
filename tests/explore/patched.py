"""Builds an explorer from changed copies of the headers. The sources stay as they are."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from explorer import LOCKS, ROOT, Explored

SOURCES = ROOT / "src"
PRECOMPILED = re.compile(r" -Winvalid-pch -include \S+/cmake_pch\.hxx")
OTHERS = ("lockswap_core", "unit_tests")  # the preload library's objects; the tests of parts
TARGET = re.compile(r" -o (?:\S+/)?CMakeFiles/([^/]+)\.dir/")  # that the object of a command belongs to


class Explorer:
    """The build tree's commands, with other headers before its own."""

    def __init__(self, build: Path, explored: Explored = LOCKS) -> None:
        entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        # A source may belong to other programs, too. Precompiled headers are those of the tree, so they are left out.
        entries = [e for e in entries if not e["file"].endswith("/cmake_pch.hxx.cxx")]

        def of(targets: tuple[str, ...]) -> list[dict]:
            return [e for e in entries if any(fnmatch(TARGET.search(e["command"])[1], t) for t in targets)]

        own = of((*OTHERS, *explored.targets))
        self.commands = {
            Path(e["file"]): (Path(e["directory"]), shlex.split(PRECOMPILED.sub("", e["command"]))) for e in own
        }
        self.units = [Path(e["file"]) for e in of(explored.targets)]
        self.explored = explored

    def object_of(self, source: Path) -> Path:
        """Where the build leaves the object of `source`."""
        directory, words = self.commands[source]
        return directory / words[words.index("-o") + 1]

    def compile(self, source: Path, overlay: Path, output: Path, *options: str) -> None:
        """Compiles `source` as the build does, but with `overlay` before the sources. Raises CalledProcessError."""
        directory, words = self.commands[source]
        at = words.index("-o")
        command = [words[0], f"-I{overlay}", *words[1:at], *words[at + 2 :], *options, "-o", str(output)]
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True)

    def compile_all(self, sources: list[Path], overlay: Path, folder: Path) -> list[Path]:
        """The objects of `sources`, quickly made, two at a time."""
        outputs = [folder / (source.name + ".o") for source in sources]
        with ThreadPoolExecutor(2) as pool:
            options = ("-O1", "-g0", "-w")
            list(pool.map(lambda s, o: self.compile(s, overlay, o, *options), sources, outputs))
        return outputs

    def build(self, overlay: Path, program: Path) -> Path:
        """An explorer of the headers in `overlay`; those that are not there come from the sources."""
        units = [source for source in self.units if source.name.startswith(self.explored.units)]
        changed = self.compile_all(units, overlay, program.parent)
        others = [source for source in self.units if source not in units]
        kept = [self.object_of(source) for source in others]
        compiler = self.commands[others[0]][1][0]
        link = [compiler, *changed, *kept, "-o", program]
        subprocess.run(link, check=True, capture_output=True, text=True)
        return program


def write_overlay(overlay: Path, texts: dict[str, str]) -> None:
    """Puts the changed headers where an #include finds them before the sources."""
    for name, text in texts.items():
        target = overlay / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
