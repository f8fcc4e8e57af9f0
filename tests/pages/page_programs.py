"""Programs of pages: each block of C or C++ on a page is a part of a program that compiles without a warning and prints
what it should, as it is and under both sanitizers, against an installation.

A page either has the whole program, or says lines of one that stands in the tree.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# gcc's warning of what ThreadSanitizer can't see in a program is an error, too.
SANITIZED = {"thread": ["-fsanitize=thread", "-g"], "address": ["-fsanitize=address,undefined", "-g"]}
PLAIN = "plain"


@dataclass(frozen=True)
class Package:
    """What pkg-config calls a library, by how a program is compiled."""

    plain: str
    thread: str
    address: str
    checked: str | None = None

    @property
    def forms(self) -> list[str]:
        return [PLAIN, *(["checked"] if self.checked else []), *SANITIZED]

    def of(self, how: str) -> str:
        return getattr(self, how)


@dataclass(frozen=True)
class Program:
    package: Package
    page: str
    block: int  # of the page's blocks
    prints: str
    source: str | None = None  # None if the page has all of it
    links: str = ""
    needs: str = ""  # a header that must be there, of the package that `links` is of
    libraries: bool = True  # or only the package's headers

    @property
    def name(self) -> str:
        return f"{Path(self.page).stem}-{self.block}"

    @property
    def is_cpp(self) -> bool:
        return blocks(ROOT / self.page)[self.block][0] == "cpp"

    @property
    def forms(self) -> list[str]:
        """A checked library differs from the other one only for those that link it."""
        return [how for how in self.package.forms if self.libraries or how != "checked"]


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(c|cpp)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def places(pages: Iterable[Path]) -> set[tuple[str, int]]:
    return {(page.relative_to(ROOT).as_posix(), at) for page in pages for at in range(len(blocks(page)))}


def in_all_forms(programs: Iterable[Program]) -> list[object]:
    """For pytest.mark.parametrize. In C++ a program takes seconds to compile, so all but whole ones are for the full
    set."""
    forms = []
    for program in programs:
        marks = [pytest.mark.full] if program.source and program.is_cpp else []
        forms += [pytest.param(program, how, marks=marks, id=f"{program.name}-{how}") for how in program.forms]
    return forms


def _words(text: str) -> str:
    """With one blank between words, so that lines may be broken and indented otherwise."""
    return " ".join(text.split())


def check_lines(program: Program) -> None:
    """The lines of a block stand in the program, in this order."""
    text = _words((ROOT / program.source).read_text(encoding="utf-8"))
    at = 0
    for line in blocks(ROOT / program.page)[program.block][1].splitlines():
        found = text.find(_words(line).removesuffix("..."), at)
        assert found >= 0, f"{program.source} does not have, or not there: {line}"
        at = found


def install(prefix: Path, *components: str) -> None:
    for component in components:
        command = ["cmake", "--install", BUILD, "--prefix", prefix, "--component", component]
        subprocess.run(command, check=True, capture_output=True)


def flags(prefix: Path, package: str, libraries: bool = True) -> list[str]:
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    asked = ["pkg-config", "--cflags", *(["--libs"] if libraries else []), package]
    return shlex.split(subprocess.run(asked, check=True, capture_output=True, text=True, env=env).stdout)


@cache
def works(sanitizer: str) -> bool:
    command = ["cc", sanitizer, "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(command, input="int main(void) { return 0; }", text=True, capture_output=True).returncode == 0


def build(prefix: Path, source: Path, how: str, after: list[str]) -> Path:
    program = prefix / f"{source.stem}{source.suffix}.{how}"
    compiler = ["cc", "-std=c99"] if source.suffix == ".c" else ["c++", "-std=c++20"]
    for sanitizer in SANITIZED.get(how, [])[:1]:
        if not works(sanitizer):
            pytest.skip(f"the compiler has no {sanitizer}: install its sanitizers' libraries")
    strict = ["-Wall", "-Wextra", "-Werror", "-pthread", *SANITIZED.get(how, [])]
    command = [*compiler, *strict, source, "-o", program, *after, f"-Wl,-rpath,{prefix / 'lib'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def check_output(prefix: Path, program: Program, how: str) -> None:
    if program.needs and not list(Path("/usr/include").rglob(program.needs)):
        pytest.skip(f"{program.needs} is not there: install what has it")
    if program.source is None:
        language, text = blocks(ROOT / program.page)[program.block]
        source = prefix / f"{program.name}.{language}"
        source.write_text(text, encoding="utf-8")
    else:
        source = ROOT / program.source
    after = [*flags(prefix, program.package.of(how), program.libraries), *shlex.split(program.links)]
    done = run(build(prefix, source, how, after))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == program.prints
