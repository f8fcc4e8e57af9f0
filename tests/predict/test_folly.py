"""The predictions of folly's tables are what was committed, and the page says what comparing them says."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / "results/predictions"


def test_the_page_says_what_the_comparison_says():
    words = [HERE / "folly.py", "judge", RESULTS / "2026-11-29-folly.csv", HERE / "evidence/folly.csv"]
    said = subprocess.run([sys.executable, *words], check=True, capture_output=True, text=True).stdout.splitlines()
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
