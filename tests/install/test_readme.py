"""What the README shows is true: its form, and its commands and those of the page by symptom, as they stand."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
SYMPTOMS = ROOT / "docs/start.md"
FIRST_SCREEN = 45  # lines


def commands_of(document: Path) -> list[str]:
    """The commands in indented blocks that run as they stand; one ends where its line does not end in a backslash."""
    text = document.read_text().replace("\\\n", " ")
    lines = [line.strip() for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE)]
    return [line for line in lines if line.startswith(("build/", "LD_PRELOAD=")) and "./server" not in line]


def once(command: str) -> str:
    """A comparison with one round of short runs; all else as it stands."""
    return command.replace(" -- ", " --repeats 1 --seconds 1 -- ", 1) if " compare " in command else command


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder like a fresh clone that was built."""
    for name in ("apps", "build", "docs", "harness", "packaging", "structures"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def run_in(clone: Path, command: str) -> str:
    env = os.environ | {"LOCKSWAP_HOME": str(clone)}
    done = subprocess.run(
        ["bash", "-c", command], cwd=clone, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, command + "\n" + done.stdout + done.stderr
    return done.stdout + done.stderr


def test_form() -> None:
    lines = README.read_text().splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 160


def test_first_screen_has_a_command_a_picture_and_a_table_and_says_when_not() -> None:
    text = "\n".join(README.read_text().splitlines()[:FIRST_SCREEN])
    assert text.count("\n    build/bin/lockswap") == 1
    assert text.count("![") == 1
    assert text.count("| --- |") == 1
    assert all(f"**{word}**" in text for word in ("What", "For whom", "How", "When not"))
    when_not = text.partition("**When not**")[2].partition("\n\n")[0]
    assert 3 <= when_not.count("\n  - ") <= 6, "said there, not behind a link"


def test_a_unit_file_has_whole_paths() -> None:
    units = re.findall(r"^    Environment=(.*)$", README.read_text(), re.MULTILINE)
    assert units and all("LD_PRELOAD=/" in unit and "$" not in unit for unit in units)


def test_both_documents_have_commands() -> None:
    assert len(commands_of(README)) == 6  # the first, and five
    assert len(commands_of(SYMPTOMS)) >= 10


# The first is the third of the five with less.
first, *five = commands_of(README)


@pytest.mark.parametrize("command", [pytest.param(first, marks=pytest.mark.full), *five])
def test_command_of_the_readme(clone: Path, command: str) -> None:
    output = run_in(clone, once(command))
    if " compare " in command:
        assert list(clone.glob("lockswap-results/*/report.html"))  # of a program of one's own: where the user is
    if " audit " in command:
        assert "rwlocks" in output
    if " --stats " in command:
        assert "share of fast reads" in output


@pytest.mark.full
def test_a_fair_lock_lets_the_writer_in_as_the_readme_says(clone: Path) -> None:
    shown = next(found for command in five if (found := re.search(r"lockswap run --rwlock (\S+)", command)))
    fair, rates = shown[1], {}
    for lock in ("none", fair):
        output = run_in(clone, f"build/bin/lockswap run --rwlock {lock} -- build/apps/locktorture --seconds 4")
        match = re.search(r"writes_s ([0-9.]+)", output)
        assert match
        rates[lock] = float(match[1])
    assert rates[fair] > 3 * rates["none"]


@pytest.mark.full
@pytest.mark.parametrize("command", commands_of(SYMPTOMS))
def test_command_of_a_symptom(clone: Path, command: str) -> None:
    run_in(clone, once(command))
