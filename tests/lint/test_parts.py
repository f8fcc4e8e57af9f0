"""scripts/test.sh: the parts of `./run.sh test`, each with its time, whatever fails."""

import re
import subprocess

import pytest

PARTS = [
    "packages",
    "build",
    "programs to test with",
    "lint",
    "unit and conformance",
    "exploration",
    "programs",
    "harness",
]
STUBS = """
set -euo pipefail
JOBS=2
. scripts/common.sh
. scripts/test.sh
need_packages() { :; }
build_all() { [[ $FAIL != build ]]; }
get_workloads() { :; }
get_programs() { :; }
run_lint() { [[ $FAIL != lint ]]; }
run_ctest() { echo "ctest $*"; [[ "$*" != *"-R ^$FAIL"* ]]; }
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
        "build": "7", "unit and conformance": "8", "exploration": "5", "programs": "6", "harness": "5", "whole": "25",
    }  # fmt: skip
    assert "failed" not in result.stdout


def test_every_ctest_runs_in_one_part(checkout):
    result, _ = run(checkout)
    chosen = re.findall(r"^ctest .* (-[ER] \S+)$", result.stdout, re.MULTILINE)
    assert chosen == ["-E ^(explore|programs)", "-R ^explore", "-R ^programs"]


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
