"""What a changed file of Python, or of data, reaches: by imports, and by the names of files in the text."""

from __future__ import annotations

import ast
import os
import re
from functools import cache
from pathlib import Path

from entries import ROOT, TESTS

PACKAGES = {"lockswap": "harness"}
# What runs the command runs all of its package.
COMMAND, MAIN = re.compile(r'"-m", "lockswap"|command_server\.run\('), "harness/lockswap/__main__.py"
TOPS = ("tests", "harness", "scripts", "tools", "packaging", "structures")
FOLDERS = ("tests/life", "tests/harness", "tests/explore", "tests/apps", "tests/tiers", "tests", "tools", "scripts")


def named_modules(text: str) -> set[str]:
    """The modules that this text imports, also those that may be names in a module; relative ones begin with dots."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            names.add(base)
            names.update(f"{base}.{alias.name}" if node.module else base + alias.name for alias in node.names)
    return names


class Modules:
    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.files = {file.relative_to(root).as_posix() for top in TOPS for file in (root / top).rglob("*.py")}
        self.reached = cache(self._reached)
        self.imported = cache(self._imported)
        self.text = cache(lambda file: (root / file).read_text(encoding="utf-8"))

    def _file(self, importer: str, name: str) -> str | None:
        """The project's file behind an imported name, if it is one: beside the importer, above it, or of a package."""
        level = len(name) - len(name.lstrip("."))
        path = name.lstrip(".").replace(".", "/")
        if not path:
            return None
        here = Path(importer).parent
        if level:
            bases = [(here.parents[level - 2] if level > 1 else here).as_posix()]
        elif (package := path.split("/")[0]) in PACKAGES:
            bases = [PACKAGES[package]]
        else:
            # A test may put another folder of the tests before the others.
            bases = [here.as_posix(), *(folder.as_posix() for folder in here.parents), *FOLDERS]
        for base in bases:
            for candidate in (f"{base}/{path}.py", f"{base}/{path}/__init__.py"):
                if os.path.normpath(candidate) in self.files:
                    return os.path.normpath(candidate)
        return None

    def _imported(self, file: str) -> list[str]:
        files = (self._file(file, name) for name in named_modules(self.text(file)))
        command = [MAIN] if self.runs_the_command(file) and MAIN in self.files else []
        return [*(other for other in files if other is not None), *command]

    def _reached(self, file: str) -> frozenset[str]:
        """The file, what it imports, what these import, and the conftest.py of its folders."""
        found: set[str] = set()
        left = [file]
        folder = Path(file).parent
        left += [c for f in (folder, *folder.parents) if (c := (f / "conftest.py").as_posix()) in self.files]
        while left:
            one = left.pop()
            if one in found:
                continue
            found.add(one)
            left += self.imported(one)
        return frozenset(found)

    def own(self, file: str) -> list[str]:
        """The file, and what it imports from its own folder."""
        return [one for one in sorted(self.reached(file)) if Path(one).parent == Path(file).parent]

    def runs_the_command(self, file: str) -> bool:
        return COMMAND.search(self.text(file)) is not None

    def words(self, file: str) -> set[str]:
        """What may be names of programs and libraries in these."""
        return {word for one in self.own(file) for word in re.findall(r"[\w.-]+", self.text(one))}

    def names(self, file: str, changed: str) -> bool:
        """Whether these have the name of a changed file in their text; of data, its folder's will do."""
        path = Path(changed)
        names = {path.name} if path.suffix == ".md" or len(path.parts) == 1 else {path.name, path.parent.name}
        return any(name in self.text(one) for one in self.own(file) for name in names)

    def reaches(self, file: str, changed: set[str]) -> bool:
        """Whether a changed file is among those that `file` is made of."""
        if self.reached(file) & changed:
            return True
        data = [name for name in changed if not name.endswith(".py") and not is_cpp(name)]
        if any(self.names(file, name) for name in data):
            return True
        # A script in another language, or data, that nobody names: those in its folder.
        return any(
            Path(name).parent == Path(file).parent and name.startswith(TESTS) for name in data if not is_cpp(name)
        )


def is_cpp(name: str) -> bool:
    return Path(name).suffix in {".c", ".cc", ".cpp", ".h", ".hpp", ".def"}
