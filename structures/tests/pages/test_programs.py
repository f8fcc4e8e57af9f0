"""The programs of the structures' pages (tests/pages/page_programs.py), and what sanitizers say of a wrong one."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from page_programs import (
    ROOT,
    SANITIZED,
    Package,
    Program,
    build,
    check_lines,
    check_output,
    flags,
    in_all_forms,
    install,
    places,
    run,
    works,
)

STRUCTURES = ROOT / "structures"
TESTS = STRUCTURES / "tests"
PAGES = [*sorted((STRUCTURES / "docs").glob("*.md")), STRUCTURES / "README.md"]
CHECKED = "lockswap-structures-checked"
RLU = Package(plain="lockswap-structures", checked=CHECKED, thread=CHECKED, address=CHECKED)


def _headers(page: str, block: int, prints: str, source: str, links: str = "", needs: str = "") -> Program:
    """A program on structures that are headers alone."""
    return Program(RLU, f"structures/docs/{page}", block, prints, f"structures/{source}", links, needs, False)


PROGRAMS = [
    Program(RLU, "structures/docs/rlu.md", 0, "0 1 2 3 4 5 6 8 9", "structures/tests/pages/list.c"),
    Program(RLU, "structures/docs/rlu.md", 1, "100 started, 0 lost", "structures/tests/pages/jobs.cpp"),
    _headers("bonsai.md", 0, "found some, in order yes", "examples/bonsai.cpp"),
    _headers(
        "bonsai.md", 1, "at most all, then 100", "tests/pages/over_liburcu.cpp", "-lurcu-memb", "urcu/urcu-memb.h"
    ),
    _headers("ldu.md", 0, "400 mappings", "examples/ldu.cpp"),
    _headers("ldu.md", 1, "the child has each object", "tests/pages/forks.cpp"),
]
WHAT_TO_INCLUDE = [("structures/README.md", 0)]  # a block that is no program


def test_each_block_has_a_program() -> None:
    assert places(PAGES) == {(p.page, p.block) for p in PROGRAMS} | set(WHAT_TO_INCLUDE)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.source], ids=lambda p: p.name)
def test_the_lines_of_a_block_stand_in_the_program(program: Program) -> None:
    check_lines(program)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "structures")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(("program", "how"), in_all_forms(PROGRAMS))
def test_the_program_prints_what_it_should(program: Program, how: str, prefix: Path) -> None:
    check_output(prefix, program, how)


# What the sanitizers say of somebody else's program; without the checks of rlu.h, which would be first.
REPORTS = {
    "unlocked": ("thread", "data race"),
    "late": ("thread", "data race"),
    "kept": ("address", "use-after-poison"),
    "freed": ("address", "heap-use-after-free"),
    "beyond": ("address", "use-after-poison"),
}


@pytest.fixture(scope="module")
def sanitized(prefix: Path) -> dict[str, Path]:
    text = (TESTS / "install/consumer/sanitized.cpp").read_text(encoding="utf-8")
    source = prefix / "sanitized.cpp"
    source.write_text("#undef LOCKSWAP_RLU_CHECKS\n" + text, encoding="utf-8")
    return {how: build(prefix, source, how, flags(prefix, CHECKED)) for how in SANITIZED if works(SANITIZED[how][0])}


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
    command = ["cc", "-fsanitize=thread", source, "-o", prefix / "section", *flags(prefix, RLU.plain)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "lockswap_structures_checked_is_needed_under_ThreadSanitizer" in done.stderr
