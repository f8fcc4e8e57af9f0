"""The command line of the conformance programs."""

import json
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[2] / "build"
PROGRAMS = BUILD / "tests/conformance"


@pytest.mark.parametrize("program", ["rwlock_conformance", "mutex_conformance"])
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--only", "NoSuch*"], "no case is named 'NoSuch*'"),
        (["--only", "*", "--without", "*"], "no case is named '*' and not '*'"),
    ],
)
def test_a_pattern_that_fits_no_case_is_an_error(program, words, complaint):
    ran = subprocess.run([PROGRAMS / program, *words], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"{program}: {complaint}\n")


def cases(command: list[str]) -> set[str]:
    return set(subprocess.run([*command, "--list"], check=True, capture_output=True, text=True).stdout.splitlines())


@pytest.mark.parametrize(("program", "option"), [("rwlock_conformance", "--rwlock"), ("mutex_conformance", "--mutex")])
def test_each_case_is_in_the_sample_of_some_lock(program, option):
    words = ["ctest", "--test-dir", BUILD, "--show-only=json-v1"]
    listed = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["tests"]
    # What measures a test and its name come before the command.
    commands = [test.get("command", [])[2:] for test in listed]
    samples = [c for c in commands if c and Path(c[0]).name == program and "--sample" in c and option in c]
    samples = [c for c in samples if c[c.index(option) + 1] not in ("none", "pthread")]
    left_out = {c[c.index("--without") + 1] for c in samples if "--without" in c}
    assert len(samples) > 10
    missing = cases([str(PROGRAMS / program)]) - set().union(*map(cases, samples))
    assert not missing, f"{missing}; some leave out {left_out}"
