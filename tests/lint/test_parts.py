"""scripts/test.sh: the parts of `./run.sh test`, each with its time, whatever fails."""

import contextlib
import os
import re
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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
JOBS=2 PYTHON=/usr/bin/python3
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
run_ctest() { echo "ctest $*"; [[ "$*" != *"-R ^$FAIL" ]]; }
run_pytest() { echo "pytest $*"; [[ $FAIL != harness ]]; }
aarch64_tests() { echo aarch64; }
tiers() {
  echo "tiers $*"
  [[ $1 != plan ]] && return
  mkdir -p "$2"
  printf '1,0,1,7\\n' >"$2/ctest"
  echo tests/a/test_a.py >"$2/pytest"
  printf '%s\\n' $PLANNED >"$2/parts"
  echo "$BUILD/tested/tree.tsv" >"$2/state"
}
PLANNED="lint glibc"
"""


def run(checkout, fail: str = "nothing", how: str = "run_tests") -> tuple[subprocess.CompletedProcess, dict[str, str]]:
    (checkout.root / "tests").mkdir(exist_ok=True)
    shutil.copy(ROOT / "tests/budgets.toml", checkout.root / "tests/budgets.toml")
    words = ["bash", "-c", f"FAIL={fail}\n{STUBS}\n{how}"]
    result = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True)
    lines = re.findall(r"^(\S.*?) +\d+:\d\d +\d+ (.*)$", result.stdout, re.MULTILINE)
    return result, dict(lines)


def test_each_part_has_a_line_with_its_budget(checkout):
    result, table = run(checkout)
    assert result.returncode == 0, result.stderr
    assert list(table) == [*PARTS, "whole"]
    budgets = tomllib.loads((ROOT / "tests/budgets.toml").read_text())
    for name, rest in table.items():
        assert (re.match(r" *(\d*)", rest)[1] or None) == (
            str(budgets["parts"][name]) if name in budgets["parts"] else None
        )
    assert f"limit {budgets['minutes']} min" in table["whole"]
    assert "failed" not in result.stdout


def test_every_ctest_runs_in_one_part(checkout):
    result, _ = run(checkout)
    chosen = re.findall(r"^ctest (\S+) -LE \S+ ?(.*)$", result.stdout, re.MULTILINE)
    assert sorted(chosen) == [(".", "-E ^(explore|programs)"), (".", "-R ^explore"), (".", "-R ^programs")]


def test_other_glibcs_are_quick_but_in_the_full_tests(checkout):
    assert "\nglibc --quick\n" in run(checkout)[0].stdout
    assert "\nglibc \n" in run(checkout, how="run_full_tests")[0].stdout


def test_the_part_beside_the_others_runs_when_they_leave_time(checkout):
    slow = (
        STUBS
        + """
run_ctest() { [[ $* != *"-R ^explore" ]] || { sleep 1; echo "niceness $(nice)"; }; }
"""
    )
    words = ["bash", "-c", f"FAIL=nothing\n{slow}\nrun_tests"]
    result = subprocess.run(words, cwd=checkout.root, capture_output=True, text=True)
    assert f"niceness {min(os.nice(0) + 10, 19)}\n" in result.stdout, result.stdout + result.stderr
    assert re.search(r"^exploration +(?!0:00 )\d+:\d\d ", result.stdout, re.MULTILINE)


def is_there(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_an_end_before_its_time_ends_the_part_beside_the_others(checkout):
    script = f"""FAIL=nothing
{STUBS}
mkfifo gate
wait_at_the_gate() {{ echo $BASHPID >pid; read -r <gate; echo >survived; }}
goes_on() {{ until [[ -s pid ]]; do sleep 0.02; done; exit 1; }}
PART= STARTED=0 STARTED_CPU=0
meanwhile x wait_at_the_gate
trap print_parts EXIT
goes_on"""
    ran = subprocess.run(["bash", "-c", script], cwd=checkout.root, capture_output=True, text=True)
    assert ran.returncode == 1, ran.stderr
    pid = int((checkout.root / "pid").read_text())
    while is_there(pid):  # what was ended doesn't go through, however late it gets a processor for its end
        with contextlib.suppress(OSError):
            gate = os.open(checkout.root / "gate", os.O_WRONLY | os.O_NONBLOCK)
            os.write(gate, b"\n")
            os.close(gate)
        time.sleep(0.01)
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


def test_the_full_tests_have_what_is_planned_and_no_budgets(checkout):
    result, table = run(checkout, how="run_full_tests --slice 3/8")
    assert result.returncode == 0, result.stderr
    assert list(table) == ["packages", "build", "programs to test with", "lint", "ctest", "glibc", "harness", "whole"]
    assert not re.search(r"\d", "".join(table.values()))
    assert "\npytest -m not alone tests/a/test_a.py\n" in result.stdout
    assert "\naarch64\n" not in result.stdout
    said = re.findall(r"^tiers (.*)$", result.stdout, re.MULTILINE)
    plan = f"{checkout.root}/build/tested/plan"
    assert said[0] == f"plan {plan} --slice 3/8"
    assert said[1:] == [
        "passed lint",
        f"by-output {plan}/junit.xml {checkout.root}/build/tested/tree.tsv",
        "passed glibc",
    ]


def test_a_part_of_the_full_tests_that_fails_has_not_passed(checkout):
    result, table = run(checkout, "lint", how="run_full_tests")
    assert result.returncode == 1
    assert "failed" in table["lint"]
    assert "tiers passed lint" not in result.stdout


def test_a_part_over_its_budget_says_so_by_processor_time(checkout):
    slow = f"""{STUBS}
BUDGETS[slow]=1
BUDGETS[idle]=1
run_slow() {{ (
  # Its own time, as 0m2.004s, until that is two seconds.
  until times >own && read -r user _ <own && [[ $user != 0m[01].* ]]; do for ((i = 0; i < 50000; i++)); do :; done; done
) }}
run_idle() {{ SECONDS=$((SECONDS + 1000)); }}
goes_on slow run_slow
goes_on idle run_idle
print_parts"""
    result = subprocess.run(["bash", "-c", f"FAIL=nothing\n{slow}"], cwd=checkout.root, capture_output=True, text=True)
    said = result.stdout + result.stderr
    assert re.search(r"^slow +\d+:\d\d +\d+ +1   passed, over its budget$", result.stdout, re.MULTILINE), said
    assert re.search(r"^idle +\d{2,}:\d\d +[01] +1   passed$", result.stdout, re.MULTILINE), said
