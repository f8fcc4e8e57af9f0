"""scripts/test.sh: the parts of `./run.sh test`, each with its time, whatever fails."""

import re
import subprocess
import time

import pytest

PARTS = [
    "packages",
    "build",
    "programs to test with",
    "lint",
    "unit and conformance",
    "programs",
    "glibc",
    "harness",
    "exploration",  # beside those, so it ends last
]
STUBS = """
set -euo pipefail
JOBS=2
. scripts/common.sh
. scripts/test.sh
need_packages() { :; }
must_have() { :; }
packages_result() { echo installed; }
BUILD_GROUPS=()
declare -A MISSING
build_all() { [[ $FAIL != build ]]; }
get_workloads() { :; }
get_programs() { :; }
get_machines() { :; }
test_glibc() { echo "glibc $*"; }
run_lint() { [[ $FAIL != lint ]]; }
run_ctest() { echo "ctest $*"; [[ "$*" != "tests/$FAIL"* ]]; }
nice() { echo "nice $*"; [[ $FAIL != harness ]]; }
"""


def run(checkout, fail: str = "nothing", full: str = "") -> tuple[subprocess.CompletedProcess, dict[str, str]]:
    words = ["bash", "-c", f"FAIL={fail}\n{STUBS}\nrun_tests {full}"]
    result = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True)
    lines = re.findall(r"^(\S.*?) +\d+:\d\d   (.*)$", result.stdout, re.MULTILINE)
    return result, dict(lines)


def test_each_part_has_a_line_with_its_limit(checkout):
    result, table = run(checkout)
    assert result.returncode == 0, result.stderr
    assert list(table) == [*PARTS, "whole"]
    limits = {name: re.match(r"\d*", rest)[0] for name, rest in table.items()}
    assert limits == dict.fromkeys(PARTS, "") | {
        "build": "7", "unit and conformance": "8", "exploration": "14", "programs": "6", "glibc": "2",
        "harness": "6", "whole": "25",
    }  # fmt: skip
    assert "failed" not in result.stdout


def test_every_ctest_runs_in_one_part(checkout):
    result, _ = run(checkout)
    chosen = re.findall(r"^ctest (\S+) -LE \S+ ?(.*)$", result.stdout, re.MULTILINE)
    assert sorted(chosen) == [(".", "-E ^(explore|programs)"), (".", "-R ^programs"), ("tests/explore", "")]


def test_other_glibcs_are_quick_but_in_the_full_tests(checkout):
    assert "\nglibc --quick\n" in run(checkout)[0].stdout
    assert "\nglibc \n" in run(checkout, full="--full")[0].stdout


def test_the_quarter_of_conformance_is_said_and_the_full_tests_have_none(checkout):
    assert re.search(r"^== conformance and exploration: quarter [0-3] of 0 to 3", run(checkout)[0].stdout, re.MULTILINE)
    assert "exploration: quarter" not in run(checkout, full="--full")[0].stdout


def test_the_part_beside_the_others_runs_when_they_leave_time(checkout):
    slow = (
        STUBS
        + """
run_ctest() { [[ $1 != tests/explore ]] || { sleep 1; chrt --pid $BASHPID; }; }
"""
    )
    words = ["bash", "-c", f"FAIL=nothing\n{slow}\nrun_tests"]
    result = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True)
    assert "SCHED_IDLE" in result.stdout, result.stdout + result.stderr
    assert re.search(r"^exploration +0:0[1-9] ", result.stdout, re.MULTILINE)


def test_an_end_before_its_time_ends_the_part_beside_the_others(checkout):
    slow = (
        STUBS
        + """
run_ctest() { [[ $1 != tests/explore ]] || { sleep 1; echo survived >survived; }; }
run_lint() { :; }
goes_on() { sleep 0.2; exit 1; }
"""
    )
    words = [
        "bash",
        "-c",
        f"FAIL=nothing\n{slow}\nPART= LIMIT= STARTED=0\n"
        "meanwhile x 1 run_ctest tests/explore\ntrap print_parts EXIT\ngoes_on",
    ]
    ran = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True, timeout=20)
    assert ran.returncode == 1
    time.sleep(1.5)
    assert not (checkout.root / "survived").exists()


@pytest.mark.parametrize(("fail", "part"), [("lint", "lint"), ("explore", "exploration"), ("harness", "harness")])
def test_a_part_that_fails_is_said_and_the_others_run(checkout, fail, part):
    result, table = run(checkout, fail)
    assert result.returncode == 1
    assert list(table) == [*PARTS, "whole"]
    assert "failed" in table[part]
    assert f"failed: {part}" in result.stderr


def test_a_build_that_fails_ends_the_tests_with_the_table(checkout):
    result, table = run(checkout, "build")
    assert result.returncode != 0
    assert list(table) == ["packages", "build", "whole"]
    assert "failed" in table["build"]


def test_the_full_tests_have_no_limits(checkout):
    result, table = run(checkout, full="--full")
    assert "min" not in "".join(table.values())
    assert "-LE" not in result.stdout and "not full" not in result.stdout


def test_a_part_over_its_limit_says_so(checkout):
    slow = STUBS.replace("run_lint() {", "run_lint() { SECONDS=$((SECONDS + 61));")
    words = ["bash", "-c", f"FAIL=nothing\n{slow}\ngoes_on slow 1 run_lint\nprint_parts"]
    result = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True)
    assert re.search(r"^slow +1:01   1 min +passed, over its limit$", result.stdout, re.MULTILINE), (
        result.stdout + result.stderr
    )
