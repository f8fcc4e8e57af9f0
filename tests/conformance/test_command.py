"""The command line of the conformance programs."""

import subprocess
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parents[2] / "build/tests/conformance"


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
