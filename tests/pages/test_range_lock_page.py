"""The programs of the pages of the lock library, whose one API is that of range locks: see page_programs.py."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from page_programs import (
    ROOT,
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
)

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
RANGES = Package(plain="lockswap", thread="lockswap", address="lockswap")
PROGRAMS = [
    Program(RANGES, "docs/range-locks.md", 0, "8 records, 0 torn", "tests/pages/range_records.c"),
    Program(RANGES, "docs/range-locks.md", 1, "8 records, 0 torn", "tests/pages/range_records.cpp"),
]


def test_each_block_has_a_program() -> None:
    assert places(PAGES) == {(p.page, p.block) for p in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_the_lines_of_a_block_stand_in_the_program(program: Program) -> None:
    check_lines(program)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("installed")
    install(folder, "development")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(("program", "how"), in_all_forms(PROGRAMS))
def test_the_program_prints_what_it_should(program: Program, how: str, prefix: Path) -> None:
    check_output(prefix, program, how)


# What ThreadSanitizer learns of ranges: it must not be quiet about a program that forgets one.
@pytest.mark.parametrize(
    ("case", "report"),
    [("shared", ""), ("downgraded", ""), ("upgraded", ""), ("timed", ""), ("unlocked", "data race")],
)
def test_thread_sanitizer_knows_ranges(watched: Path, case: str, report: str) -> None:
    done = run(watched, case)
    assert (done.returncode == 0) == (report == ""), done.stderr
    assert report in done.stderr
    assert report or done.stderr == ""


@pytest.fixture(scope="module")
def watched(prefix: Path) -> Path:
    return build(prefix, ROOT / "tests/pages/range_watched.c", "thread", flags(prefix, "lockswap"))
