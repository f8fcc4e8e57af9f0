#!/usr/bin/env python3
"""Copy packages that the command needs into an installation, so that it runs without a network.

    copy_packages.py REQUIREMENTS HOME

Run by the Python that has the packages; HOME is the installation's folder LIBDIR/lockswap. The packages named in
REQUIREMENTS go to HOME/packages with their licences and their compiled modules.
"""

import re
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def names_in(requirements: Path) -> list[str]:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return [match[0] for line in lines if (match := re.match(r"[A-Za-z0-9._-]+(?===)", line))]


def copy(name: str, to: Path) -> None:
    """Copy a package without its tests (a seventh of all), and without what lies elsewhere, such as commands."""
    found = distribution(name)
    for file in found.files or []:
        if ".." in file.parts or "tests" in file.parts:
            continue
        source, target = Path(str(found.locate_file(file))), to / file
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def main() -> None:
    requirements, home = map(Path, sys.argv[1:])
    for name in names_in(requirements):
        try:
            copy(name, home / "packages")
        except PackageNotFoundError:
            sys.exit(f"the Python package {name} is not in {sys.prefix}: run ./run.sh build")


if __name__ == "__main__":
    main()
