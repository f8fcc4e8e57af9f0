"""The programs of the pages: each block of C or C++ on a page of the structures is a part of a program that compiles
without a warning and prints what it should, as it is and under both sanitizers, against an installation.

A page either has the whole program, or says lines of one that stands beside the tests.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
STRUCTURES = TESTS.parent
BUILD = STRUCTURES.parent / "build"
PAGES = [*sorted((STRUCTURES / "docs").glob("*.md")), STRUCTURES / "README.md"]

PACKAGES = {"plain": "lockswap-structures", "checked": "lockswap-structures-checked"}
PACKAGES |= dict.fromkeys(("thread", "address"), "lockswap-structures-checked")
# gcc's warning of what ThreadSanitizer can't see in a program is an error, too.
SANITIZED = {"thread": ["-fsanitize=thread", "-g"], "address": ["-fsanitize=address,undefined", "-g"]}


@dataclass(frozen=True)
class Program:
    page: str
    block: int  # of the page's blocks
    prints: str
    source: str | None = None  # below structures/tests; None if the page has all of it
    links: str = ""
    libraries: bool = False  # of RLU; the others are headers

    @property
    def name(self) -> str:
        return f"{Path(self.page).stem}-{self.block}"


PROGRAMS = [
    Program("docs/rlu.md", 0, "0 1 2 3 4 5 6 8 9", libraries=True),
    Program("docs/rlu.md", 1, "2 1", "pages/rcu_list.c", libraries=True),
    Program("docs/rlu-structures.md", 0, "100 started, 0 lost", "pages/jobs.cpp", libraries=True),
    Program("docs/bonsai.md", 0, "found some, in order yes", "bonsai/tutorial.cpp"),
    Program("docs/bonsai.md", 1, "at most all, then 100", "pages/over_liburcu.cpp", links="-lurcu-memb"),
    Program("docs/ldu.md", 0, "400 mappings", "ldu/tutorial.cpp"),
    Program("docs/ldu.md", 1, "the child has each object", "pages/forks.cpp"),
]
WHAT_TO_INCLUDE = [("README.md", 0)]  # a block that is no program


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(c|cpp)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def words(text: str) -> str:
    """With one blank between words, so that lines may be broken and indented otherwise."""
    return " ".join(text.split())


def test_each_block_has_a_program() -> None:
    there = {(str(page.relative_to(STRUCTURES)), at) for page in PAGES for at in range(len(blocks(page)))}
    assert there == {(p.page, p.block) for p in PROGRAMS} | set(WHAT_TO_INCLUDE)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.source], ids=lambda p: p.name)
def test_the_lines_of_a_block_stand_in_the_program(program: Program) -> None:
    text = words((TESTS / program.source).read_text(encoding="utf-8"))
    at = 0
    for line in blocks(STRUCTURES / program.page)[program.block][1].splitlines():
        found = text.find(words(line).removesuffix("..."), at)
        assert found >= 0, f"{program.source} does not have, or not there: {line}"
        at = found


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("installed")
    command = ["cmake", "--install", BUILD, "--prefix", folder, "--component", "structures"]
    subprocess.run(command, check=True, capture_output=True)
    yield folder
    shutil.rmtree(folder)


def flags(prefix: Path, how: str, libraries: bool) -> list[str]:
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    asked = ["pkg-config", "--cflags", *(["--libs"] if libraries else []), PACKAGES[how]]
    return shlex.split(subprocess.run(asked, check=True, capture_output=True, text=True, env=env).stdout)


@cache
def works(sanitizer: str) -> bool:
    command = ["cc", sanitizer, "-x", "c", "-", "-o", "/dev/null"]
    return subprocess.run(command, input="int main(void) { return 0; }", text=True, capture_output=True).returncode == 0


def build(prefix: Path, source: Path, how: str, libraries: bool, links: str = "") -> Path:
    program = prefix / f"{source.stem}.{how}"
    compiler = ["cc", "-std=c99"] if source.suffix == ".c" else ["c++", "-std=c++20"]
    for sanitizer in SANITIZED.get(how, [])[:1]:
        if not works(sanitizer):
            pytest.skip(f"the compiler has no {sanitizer}: install its sanitizers' libraries")
    strict = ["-Wall", "-Wextra", "-Werror", "-pthread", *SANITIZED.get(how, [])]
    after = [*flags(prefix, how, libraries), *shlex.split(links), f"-Wl,-rpath,{prefix / 'lib'}"]
    done = subprocess.run([*compiler, *strict, source, "-o", program, *after], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True)


# In C++ a program takes seconds to compile, so those go to the full set; rlu.md's stands for them.
FORMS = [
    pytest.param(program, how, marks=[pytest.mark.full] if program.source else [], id=f"{program.name}-{how}")
    for program in PROGRAMS
    for how in PACKAGES
    if program.libraries or how != "checked"
]


@pytest.mark.parametrize(("program", "how"), FORMS)
def test_the_program_prints_what_it_should(program: Program, how: str, prefix: Path) -> None:
    if program.links and not list(Path("/usr/include").rglob("urcu/urcu-memb.h")):
        pytest.skip("liburcu's headers are not there: install liburcu-dev")
    if program.source is None:
        language, text = blocks(STRUCTURES / program.page)[program.block]
        source = prefix / f"{program.name}.{language}"
        source.write_text(text, encoding="utf-8")
    else:
        source = TESTS / program.source
    done = run(build(prefix, source, how, program.libraries, program.links))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == program.prints


# What the sanitizers say of somebody else's program; without the checks of rlu.h, which would be first.
REPORTS = {
    "unlocked": ("thread", "data race"),
    "late": ("thread", "data race"),
    "kept": ("address", "use-after-poison"),
    "freed": ("address", "heap-use-after-free"),
    "beyond": ("address", "use-after-poison"),
}


@pytest.fixture(scope="session")
def sanitized(prefix: Path) -> dict[str, Path]:
    text = (TESTS / "install/consumer/sanitized.cpp").read_text(encoding="utf-8")
    source = prefix / "sanitized.cpp"
    source.write_text("#undef LOCKSWAP_RLU_CHECKS\n" + text, encoding="utf-8")
    return {how: build(prefix, source, how, libraries=True) for how in SANITIZED if works(SANITIZED[how][0])}


@pytest.mark.parametrize("how", SANITIZED)
def test_a_right_program_gets_no_report(sanitized: dict[str, Path], how: str) -> None:
    if how not in sanitized:
        pytest.skip(f"the compiler has no sanitizer of that kind: {how}")
    done = run(sanitized[how], "right")
    assert (done.returncode, done.stdout, done.stderr) == (0, "right\n", "")


@pytest.mark.parametrize("wrong", REPORTS)
def test_a_wrong_program_is_reported(sanitized: dict[str, Path], wrong: str) -> None:
    how, report = REPORTS[wrong]
    if how not in sanitized:
        pytest.skip(f"the compiler has no sanitizer of that kind: {how}")
    done = run(sanitized[how], wrong)
    assert done.returncode != 0
    assert report in done.stderr


def test_thread_sanitizer_wants_the_checked_library(prefix: Path) -> None:
    if not works("-fsanitize=thread"):
        pytest.skip("the compiler has no ThreadSanitizer")
    source = TESTS / "install/consumer/section.c"
    command = ["cc", "-fsanitize=thread", source, "-o", prefix / "section", *flags(prefix, "plain", True)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "lockswap_structures_checked_is_needed_under_ThreadSanitizer" in done.stderr
