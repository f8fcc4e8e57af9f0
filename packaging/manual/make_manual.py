#!/usr/bin/env python3
"""Write the manual pages.

    make_manual.py OUT PART... [--build BUILD] [--doxygen PROGRAM]

The parts are the components of an installation: `command` (section 1), `preload` (liblockswap(7)), `development` and
`structures` (section 3). All pages come from what is there already: section 1 from the commands' --help, section 7 from
docs/, section 3 from the public headers, which doxygen reads. BUILD has the registry, which says which locks are
compared by default. If a package of Python or doxygen is missing, one line says so, and the status is 3.
"""

# ruff: noqa: E402 (where our modules are comes first)

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "harness"), str(Path(__file__).parent)]
sys.dont_write_bytecode = True  # the tree may belong to somebody else

try:
    import commands
    import declarations
    import functions
    import library
except ModuleNotFoundError as error:
    print(f"no manual pages: this Python ({sys.executable}) has no {error.name}", file=sys.stderr)
    sys.exit(3)

from page import Page

from lockswap.base.version import VERSION
from lockswap.paper.papers import RELEASED

PARTS = ("command", "preload", "development", "structures")
RELATED = [("lockswap", 1), ("lockswap-run", 1), ("lockswap_range_lock", 3), ("pthreads", 7), ("ld.so", 8)]


def pages_of(part: str, build: Path, doxygen: str) -> Iterator[Page]:
    if part == "command":
        yield from commands.Maker(build, library.variables()).pages()
    elif part == "preload":
        yield library.page(RELATED)
    else:
        with tempfile.TemporaryDirectory() as folder:
            for header in declarations.headers(doxygen, Path(folder)):
                if header.of_structures == (part == "structures"):
                    yield from functions.pages(header)


def write(page: Page, out: Path) -> None:
    """The page, and a link to it under each other name. Its date is the version's: builds of a tree are the same."""
    file = out / page.file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page.text(VERSION, RELEASED), encoding="utf-8")
    for name in page.also:
        link = file.with_name(f"{name}.{page.section}")
        link.unlink(missing_ok=True)
        link.symlink_to(file.name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the manual pages.")
    parser.add_argument("out", type=Path)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--doxygen", default="doxygen")
    asked = parser.parse_args()
    if {"development", "structures"} & set(asked.parts) and shutil.which(asked.doxygen) is None:
        print("no manual pages of section 3: doxygen is not installed", file=sys.stderr)
        sys.exit(3)
    for part in asked.parts:
        for page in pages_of(part, asked.build, asked.doxygen):
            write(page, asked.out)


if __name__ == "__main__":
    main()
