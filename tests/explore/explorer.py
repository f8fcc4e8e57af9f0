"""What the scripts of this folder work on: an explorer, its tables and the headers that it explores. An explorer.toml
says so; by default it is the one beside this file, with the locks."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OF_LOCKS = Path(__file__).with_name("explorer.toml")


@dataclass(frozen=True)
class Explored:
    """The keys of an explorer.toml."""

    folder: Path  # of the file: the tables are beside it
    program: str  # in bin/ of the build
    includes: tuple[str, ...]  # folders in which an #include finds headers, the first that has one
    headers: tuple[str, ...]  # folders and files whose orders must be tried, by names as an #include has them
    # What instantiates the headers, by how the names of these sources begin; the other objects of the explorer are
    # used as they were built.
    units: tuple[str, ...]
    targets: tuple[str, ...]  # of the build, of which the explorer is made; or patterns of their names
    faults: tuple[str, ...]  # tables of planted faults, or patterns of their names
    # How the names of the headers begin whose orders are weakened; without it, those of all that the cases come to.
    only: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path = OF_LOCKS) -> Explored:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        words = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
        return cls(folder=file.parent, **words)

    def in_build(self, build: Path) -> Path:
        return build / "bin" / self.program

    def source_of(self, name: str) -> Path:
        """A header by the name that an #include has."""
        places = [ROOT / folder / name for folder in self.includes]
        return next((path for path in places if path.exists()), places[0])

    def name_of(self, header: Path) -> str:
        """The reverse, as the explorer names the file, too."""
        folders = (ROOT / folder for folder in self.includes)
        return next(header.relative_to(f).as_posix() for f in folders if header.is_relative_to(f))

    def explored_headers(self) -> list[Path]:
        found: list[Path] = []
        for path in map(self.source_of, self.headers):
            found += [p for p in path.rglob("*") if p.suffix in (".h", ".hpp")] if path.is_dir() else [path]
        return sorted(found)


def add_option(parser: argparse.ArgumentParser) -> None:
    """The option by which a script works on another explorer."""
    parser.add_argument(
        "--explorer",
        type=lambda text: Explored.read(Path(text)),
        default=LOCKS,
        metavar="FILE",
        help="the explorer.toml of another explorer than that of the locks",
    )


LOCKS = Explored.read()
PARTS = tuple(
    f"lockswap_{part}" for part in ("explore_mutants", "explore_parts", "explore_script", "multicore_explore")
)


def of_lock(lock: str) -> Explored:
    """The explorer of that lock alone, with its own faults; `lock` is rw/NAME or mutex/NAME. Exits if there is none."""
    kind, _, name = lock.partition("/")
    listed = ROOT / f"src/registry/{kind}_list.def"
    lines = listed.read_text(encoding="utf-8") if listed.exists() else ""
    line = re.search(rf'^(RW_LOCK|MUTEX)\("{name}", (\w+),', lines, re.MULTILINE)
    if line is None:
        sys.exit(f"{lock} is not in the lists of locks: give rw/NAME or mutex/NAME")
    table = f"faults/{kind}-{name}.toml"
    if not (LOCKS.folder / table).exists():
        sys.exit(f"{lock} has no planted faults of its own: {LOCKS.folder / table} is missing")
    targets = (f"lockswap-explore-{kind}-{name}", f"lockswap_explore_{kind}_{line[2]}", *PARTS)
    return replace(LOCKS, targets=targets, faults=(table,))
