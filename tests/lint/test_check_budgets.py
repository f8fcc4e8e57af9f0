"""scripts/check_budgets.py: each violation is seeded and found."""

import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUDGETS = tomllib.loads((ROOT / "tests/budgets.toml").read_text())
MINUTES = BUDGETS["minutes"]
FILES = ("tests/budgets.toml", "scripts/test.sh", ".ci/run", "CONTRIBUTING.md", "run.sh")


@pytest.fixture
def copy(checkout):
    for name in FILES:
        (checkout.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout.root / name)
    return checkout


def seeded(copy, name: str, old: str, new: str):
    file = copy.root / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    return copy.check("check_budgets.py", str(copy.root))


def test_the_project_keeps_to_its_budgets(copy):
    ran = copy.check("check_budgets.py", str(copy.root))
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("tests/budgets.toml", "lint = ", "linters = ", "the part 'lint' of scripts/test.sh has no budget"),
        ("tests/budgets.toml", "lint = ", "linters = ", "scripts/test.sh has no part 'linters'"),
        ("tests/budgets.toml", "build = ", "build = 9", "the parts have"),
        (
            "tests/budgets.toml",
            f"minutes = {MINUTES}",
            f"minutes = {MINUTES + 1}",
            f".ci/run: states {MINUTES} minutes",
        ),
        (".ci/run", f"below {MINUTES} minutes", "below 95 minutes", ".ci/run: states 95 minutes"),
        (".ci/run", f"below {MINUTES} minutes", "soon", ".ci/run: states no minutes"),
        ("CONTRIBUTING.md", f"below {MINUTES} minutes", "below 95 minutes", "CONTRIBUTING.md: states 95 minutes"),
        ("run.sh", f"less than {MINUTES} minutes", "less than 95 minutes", "run.sh: states 95 minutes"),
        ("scripts/test.sh", "  goes_on lint", "  goes_on 'a new part' true\n  goes_on lint", "the part 'a new part'"),
    ],
)
def test_a_violation_is_found(copy, name, old, new, said):
    ran = seeded(copy, name, old, new)
    assert ran.returncode == 1
    assert said in ran.stdout


def test_a_part_whose_entries_cost_more_than_its_budget_is_found(copy):
    lines = "# costs\ntest\tctest:programs/a\t500.0\nfull\tctest:programs/b\t9000.0\ntest\tpytest:tests/a.py\t1.0\n"
    (copy.root / "tests/costs.tsv").write_text(lines)
    ran = copy.check("check_budgets.py", str(copy.root))
    budget = BUDGETS["parts"]["programs"]
    assert ran.stdout.splitlines() == [
        f"tests/costs.tsv: the entries of 'programs' cost 500 CPU seconds, its budget is {budget}"
    ]
