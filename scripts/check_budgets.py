#!/usr/bin/env python3
"""Check tests/budgets.toml: each part of `./run.sh test` has a budget, and these fit into the limit of the whole, which
.ci/run, CONTRIBUTING.md and run.sh state, too; what tests/costs.tsv has of a part fits into that part's budget.

    check_budgets.py [ROOT]

Each finding is one line; the exit status is 1 if there is one.
"""

import re
import sys
import tomllib
from pathlib import Path

PROCESSORS = 2
# Parts that install and download: packages aren't counted.
FREE = {"packages", "programs to test with"}
PART = re.compile(r"^  (?:begin|goes_on|meanwhile) (?:'([^']+)'|([a-z]+))", re.MULTILINE)
STATED = {
    ".ci/run": r"below (\d+) minutes",
    "CONTRIBUTING.md": r"`\./run\.sh test` stays below (\d+) minutes",
    "run.sh": r"less than (\d+) minutes on two free cores",
}


def part_of(entry: str) -> str:
    """As tests/tiers/entries.py has it."""
    kind, _, name = entry.partition(":")
    if kind == "pytest":
        return "harness"
    if name.startswith("explore"):
        return "exploration"
    return "programs" if name.startswith("programs") else "unit and conformance"


def check(root: Path) -> list[str]:
    budgets = tomllib.loads((root / "tests/budgets.toml").read_text(encoding="utf-8"))
    minutes, parts = budgets["minutes"], budgets["parts"]
    findings = []
    text = (root / "scripts/test.sh").read_text(encoding="utf-8")
    body = text[text.index("run_tests() {") : text.index("\n}", text.index("run_tests() {"))]
    there = {quoted or bare for quoted, bare in PART.findall(body)} - FREE
    findings += [
        f"tests/budgets.toml: the part '{name}' of scripts/test.sh has no budget" for name in sorted(there - set(parts))
    ]
    findings += [f"tests/budgets.toml: scripts/test.sh has no part '{name}'" for name in sorted(set(parts) - there)]
    limit, total = minutes * 60 * PROCESSORS, sum(parts.values())
    if total > limit:
        findings.append(f"tests/budgets.toml: the parts have {total} CPU seconds, {minutes} minutes are {limit}")
    for name, pattern in STATED.items():
        stated = re.findall(pattern, (root / name).read_text(encoding="utf-8"))
        if stated != [str(minutes)]:
            findings.append(f"{name}: states {' and '.join(stated) or 'no'} minutes, tests/budgets.toml {minutes}")
    recorded = root / "tests/costs.tsv"
    spent = dict.fromkeys(parts, 0.0)
    for line in recorded.read_text(encoding="utf-8").splitlines() if recorded.exists() else ():
        tier, _, rest = line.partition("\t")
        if tier == "test":
            name, _, seconds = rest.partition("\t")
            spent[part_of(name)] += float(seconds)
    findings += [
        f"tests/costs.tsv: the entries of '{name}' cost {spent[name]:.0f} CPU seconds, its budget is {budget}"
        for name, budget in parts.items()
        if spent[name] > budget
    ]
    return findings


if __name__ == "__main__":
    found = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]))
    print("\n".join(found) or "budgets: kept")
    sys.exit(1 if found else 0)
