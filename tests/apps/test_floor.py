"""The table of the floor of a preload: it has each row, and instructions rise in the order that can't be otherwise."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/apps/floor"
TABLE = ROOT / "apps/floor/table.py"
LOCKS = ("auto", "mutex:auto")
OWN = ("read", "write", "mutex")


def made(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, TABLE, *words], capture_output=True, text=True)


def steps() -> dict[str, str]:
    """The names of the steps, by what the table calls them."""
    out = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True).stdout
    return {what: name for name, what in (line.split("\t") for line in out.splitlines())}


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, str]]:
    """The rows by what they are, with their cells by the heads of the columns."""
    done = made("--rounds", "1", "--pairs", "1000", *LOCKS)
    assert done.returncode == 0, done.stderr
    heads, _, *rows = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in done.stdout.splitlines())
    return {row[0]: dict(zip(heads, row, strict=True)) for row in rows}


@pytest.fixture(scope="module")
def instructions(table) -> dict[str, int]:
    """By the names of the steps, and by pair and lock."""
    can = subprocess.run([PROGRAM, "--instructions"], capture_output=True, text=True)
    if can.returncode == 77:
        pytest.skip(can.stderr.strip())
    named = steps()
    return {named.get(what, what): int(row["instructions"]) for what, row in table.items()}


def test_the_table_has_each_step_and_each_lock(table):
    locks = [f"{pair}, {whose}" for pair in OWN for whose in ("glibc's", "glibc's behind the preload")]
    assert {*steps(), *locks, "read, `auto`", "write, `auto`", "mutex, `mutex:auto`"} == set(table)
    for what, row in table.items():
        assert float(row["ns"]) > 0, what
        pair = what.split(",")[0]
        compared = OWN if what in steps() else (pair,) if not what.endswith("glibc's") else ()
        for one in OWN:
            assert re.fullmatch(r"\d+\.\d\d" if one in compared else "", row[f"to glibc's {one}"]), (what, one)


def test_each_step_adds_instructions(instructions):
    def rises(*names: str) -> None:
        counts = [instructions[name] for name in names]
        assert counts == sorted(set(counts)), dict(zip(names, counts, strict=True))

    rises("empty", "table", "table-reader", "read, `auto`")
    rises("table", "write, `auto`")
    rises("table", "mutex, `mutex:auto`")
    rises("empty", "thread-local", "record", "reader", "table-reader")
    rises("empty", "one-update", "two-updates", "four-updates")
    assert instructions["bound"] == instructions["empty"]
    for pair in OWN:
        rises(f"{pair}, glibc's", f"{pair}, glibc's behind the preload")


def test_enough_rounds_have_an_interval(monkeypatch):
    monkeypatch.syspath_prepend(TABLE.parent)
    import table

    few, enough = table.Row("read", "read, glibc's", ns=[2.0] * 5), table.Row("empty", "nothing", ns=[1.0] * 6)
    assert list(table.lines([few]))[-1] == "| read, glibc's | 2.00 |  |  |  |  |"
    glibcs = [table.Row(pair, pair, ns=[2.0] * 6) for pair in OWN]
    shown, half = "1.00 (1.00, 1.00)", "0.50 (0.50, 0.50)"
    assert f"| nothing | {shown} | {half} | {half} | {half} |  |" in table.lines([enough, *glibcs])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-lock"], "no rwlock 'no-lock'"),
        (["peer:x"], "'peer:x' is no reader-writer lock and no mutex"),
        (["--rounds", "0"], "'0' is not a whole number above 0"),
    ],
)
def test_bad_input_is_refused(words, says):
    done = made(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr.splitlines()[-1]
