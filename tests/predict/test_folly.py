"""The predictions of folly's tables are what was committed, and the page says what comparing them says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "results/predictions"


def said_by(program: str, prediction: str, observed: str) -> list[str]:
    words = [HERE / program, "judge", RESULTS / prediction, HERE / "evidence" / observed]
    return subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.parametrize(("name", "rows"), [("own", 45 + 16), ("fairness", 30)])
def test_the_page_of_the_rest_says_what_the_comparison_says(name, rows):
    said = said_by("folly_rest.py", f"2026-11-29-folly-{name}.csv", "folly_rest.csv")
    page = (RESULTS / f"2026-11-29-folly-{name}.md").read_text(encoding="utf-8")
    summary = [line for line in said if re.match(r"\w+: ", line)]
    assert [line for line in page.splitlines() if line.startswith("    ")] == [f"    {line}" for line in summary]
    assert len(said) - len(summary) == rows


def test_the_page_of_more_threads_than_processors_says_what_the_comparison_says():
    page = (RESULTS / "2026-11-30-folly-sharing.md").read_text(encoding="utf-8")
    summaries = []
    for name in ("sharing", "sharing-2"):
        said = said_by("folly_sharing.py", f"2026-11-30-folly-{name}.csv", "folly_sharing.csv")
        summaries += [line for line in said if " rows; " in line]
    assert [line for line in page.splitlines() if line.startswith("    ")] == [f"    {line}" for line in summaries]


def test_the_page_says_what_the_comparison_says():
    said = said_by("folly.py", "2026-11-29-folly.csv", "folly.csv")
    page = (RESULTS / "2026-11-29-folly.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("    ")] == [f"    {line}" for line in said[-3:]]
    rows = [line for line in said[:-3] if line.startswith(("small ", "shared "))]
    table = dict(re.findall(r"^\| `.*?, (.*?) \| (\d+) \|", page, re.MULTILINE))
    for title, machine in (
        ("two Xeon E5-2680 v4", "small e5-2680-v4"),
        ("Xeon D-2191", "small d-2191"),
        ("two Xeon E5-2660", "shared e5-2660"),
    ):
        assert int(table[title]) == sum(row.startswith(machine + " ") for row in rows)
