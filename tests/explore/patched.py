"""Builds lockswap-explore from changed copies of the headers. The sources stay as they are."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
# What instantiates the locks, each in a source of its own; the other objects of the explorer are used as they were
# built.
UNITS = (
    "address_space_cases",
    "block_cases",
    "bonsai_cases",
    "ldu_cases",
    "rw_cases",
    "mutex_cases",
    "range_cases",
    "range_script",
    "rlu_cases",
    "script",
)
TARGETS = ("lockswap-explore.dir", "lockswap_explore_", "lockswap_multicore_explore.dir")
COMMON_TARGETS = ("lockswap_explore_parts.dir", "lockswap_explore_script.dir", "lockswap_multicore_explore.dir")
OTHERS = ("lockswap_core.dir", "unit_tests.dir")  # the preload library's objects; the tests of parts


def source_of(name: str) -> Path:
    """A header by the name that an #include has; those that programs include are explored, too."""
    return ROOT / "include" / name if name.startswith("lockswap/") else SOURCES / name


def targets_of(lock: str) -> tuple[str, ...]:
    """What the explorer of that lock alone is made of; `lock` is rw/NAME or mutex/NAME."""
    kind, _, name = lock.partition("/")
    listed = SOURCES / f"registry/{kind}_list.def"
    lines = listed.read_text(encoding="utf-8") if listed.exists() else ""
    line = re.search(rf'^(RW_LOCK|MUTEX)\("{name}", (\w+),', lines, re.MULTILINE)
    if line is None:
        sys.exit(f"{lock} is not in the lists of locks: give rw/NAME or mutex/NAME")
    return f"lockswap-explore-{kind}-{name}.dir", f"lockswap_explore_{kind}_{line[2]}.dir", *COMMON_TARGETS


class Explorer:
    """The build tree's commands, with other headers before its own."""

    def __init__(self, build: Path, lock: str | None = None) -> None:
        targets = targets_of(lock) if lock else TARGETS
        entries = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
        # A source may belong to other programs, too.
        own = [e for e in entries if any(target in e["command"] for target in (*OTHERS, *targets))]
        self.commands = {Path(e["file"]): (Path(e["directory"]), shlex.split(e["command"])) for e in own}
        self.units = [Path(e["file"]) for e in own if any(target in e["command"] for target in targets)]

    def object_of(self, source: Path) -> Path:
        """Where the build leaves the object of `source`."""
        directory, words = self.commands[source]
        return directory / words[words.index("-o") + 1]

    def compile(self, source: Path, overlay: Path, output: Path, *options: str) -> None:
        """Compiles `source` as the build does, but with `overlay` before src/. Raises CalledProcessError."""
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
        """An explorer of the headers in `overlay`; those that are not there come from src/."""
        units = [source for source in self.units if source.name.startswith(UNITS)]
        changed = self.compile_all(units, overlay, program.parent)
        others = [source for source in self.units if source not in units]
        kept = [self.object_of(source) for source in others]
        compiler = self.commands[others[0]][1][0]
        link = [compiler, *changed, *kept, "-o", program]
        subprocess.run(link, check=True, capture_output=True, text=True)
        return program


def write_overlay(overlay: Path, texts: dict[str, str]) -> None:
    """Puts the changed headers where an #include finds them before src/."""
    for name, text in texts.items():
        target = overlay / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
