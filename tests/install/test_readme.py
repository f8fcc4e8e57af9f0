"""What the README shows is true: its form, its picture, and its commands and those of the page by symptom."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
SYMPTOMS = ROOT / "docs/start.md"
FIRST_SCREEN = 20  # lines, above the table of locks
OWN = "./prog"  # stands for the reader's program


def commands_of(document: Path) -> list[str]:
    """The commands in indented blocks that run as they stand; one ends where its line does not end in a backslash."""
    text = document.read_text().replace("\\\n", " ")
    lines = [line.strip() for line in re.findall(r"^    (\S.*)$", text, re.MULTILINE)]
    wanted = [line for line in lines if line.startswith(("build/", "LD_PRELOAD=")) and not line.endswith(" PID")]
    return [line.replace(OWN, "build/apps/locktorture") for line in wanted]


def once(command: str) -> str:
    """A comparison with one round of short runs, or fuzz with two runs; all else as it stands."""
    if " fuzz " in command:
        return command.replace(" -- ", " --runs 2 -- ", 1)
    if " compare " in command:
        seconds = " --seconds 1" if "{seconds}" in command or " -- " not in command else ""
        return command.replace(" -- ", f" --repeats 1{seconds} -- ", 1)
    return command


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
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 160


def test_first_screen_has_a_command_that_can_be_copied_and_a_picture() -> None:
    text = "\n".join(README.read_text().splitlines()[:FIRST_SCREEN])
    assert text.count("\n    build/bin/lockswap") == 1 and OWN not in text
    assert text.count("<picture>") == 1


def test_it_says_when_not() -> None:
    when_not = README.read_text().partition("## When not to use it\n\n")[2].partition("\n\n")[0]
    assert 3 <= when_not.count("- ") <= 6, "said there, not behind a link"


def test_the_picture_is_that_of_the_campaign() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    from draw_comparison import pictures

    for path, content in pictures().items():
        assert path.read_text() == content, "run tools/draw_comparison.py"
        assert path.relative_to(ROOT).as_posix() in README.read_text()


def test_a_unit_file_has_whole_paths() -> None:
    units = re.findall(r"^    Environment=(.*)$", README.read_text(), re.MULTILINE)
    assert units and all("LD_PRELOAD=/" in unit and "$" not in unit for unit in units)


def test_both_documents_have_commands() -> None:
    assert len(commands_of(README)) == 7  # the first, and six
    assert len(commands_of(SYMPTOMS)) >= 10


first, *others = dict.fromkeys(commands_of(README))


@pytest.mark.parametrize("command", [pytest.param(first, marks=pytest.mark.full), *others])
def test_command_of_the_readme(clone: Path, command: str) -> None:
    output = run_in(clone, once(command))
    if " compare " in command:
        assert list(clone.glob("lockswap-results/*/report.html"))  # of a program of one's own: where the user is
    if " audit " in command:
        assert "rwlocks" in output
    if " profile " in command:
        assert "waited" in output


@pytest.mark.full
def test_each_lock_of_the_first_command_lets_the_writer_in(clone: Path) -> None:
    named = re.search(r"--rwlock (\S+)", first)
    assert named
    rates = {}
    for lock in ("none", *named[1].split(",")):
        output = run_in(clone, f"build/bin/lockswap run --rwlock {lock} -- build/apps/locktorture --seconds 4")
        match = re.search(r"writes_s ([0-9.]+)", output)
        assert match
        rates[lock] = float(match[1])
    assert min(rate for lock, rate in rates.items() if lock != "none") > 3 * rates["none"], rates


@pytest.mark.full
@pytest.mark.parametrize("command", commands_of(SYMPTOMS))
def test_command_of_a_symptom(clone: Path, command: str) -> None:
    run_in(clone, once(command))
