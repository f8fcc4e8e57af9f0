"""With the library as it was built, where it was: every lock under a real program."""

import csv
import json
import subprocess
import tomllib

import pytest

from harness_support import NATIVE, ROOT, Lockswap, compile_c, one_line_error
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.campaign.jobs import Choices, plan_jobs
from lockswap.campaign.plan import runs_of
from lockswap.campaign.request import Request
from lockswap.campaign.time_estimate import TimeEstimate
from lockswap.report.palette import FAR_APART
from lockswap.run import cpus
from lockswap.run.cpus import Cpu

built = all(
    (ROOT / "build" / file).exists() for file in ("liblockswap.so", "bin/lockswap-registry", "bin/lockswap-meter")
)
pytestmark = pytest.mark.skipif(not built, reason="build/liblockswap.so is not built")


@pytest.mark.parametrize(
    ("asked_for", "least", "most"),
    [
        (Request(quick=True), 4, 6.5),
        (Request(workloads=["all"], threads=[2, 8, 16], seconds=1, repeats=6), 40, 60),
    ],
    ids=["quick", "full"],
)
def test_the_campaigns_of_run_sh_take_as_long_as_it_says(monkeypatch, asked_for, least, most):
    """On two processors, by their own plan: a lock or workload that is added must leave them in their time."""
    monkeypatch.setattr(cpus, "cpus", lambda: [Cpu(number, 0, 0, number) for number in range(2)])
    paths = Paths(ROOT, ROOT / "build")
    jobs, _ = plan_jobs(paths, asked_for, Choices.of(Registry.load(paths), asked_for, {}))
    checks = [job.recipe for job in jobs for _ in job.locks]
    seconds = TimeEstimate(jobs).left(runs_of(jobs, asked_for.rounds), checks)
    assert seconds is not None, "a recipe with fixed_work lacks run_s"
    assert least <= seconds / 60 <= most


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("real") / "rwbench"
    compile_c(NATIVE / "rwbench.c", path, "-pthread")
    return path


def rows(kind: str = "rwlocks") -> list[dict]:
    out = subprocess.run([ROOT / "build/bin/lockswap-registry"], capture_output=True, text=True, check=True).stdout
    return json.loads(out)[kind]


def locks(kind: str = "rwlocks") -> list[str]:
    return [lock["name"] for lock in rows(kind)]


def test_what_is_compared_by_default_has_colours_that_are_far_apart():
    registry = Registry.load(Paths(ROOT, ROOT / "build"))
    default = {lock.name for lock in (*registry.rwlocks, *registry.mutexes) if lock.compared_by_default}
    assert len(default) <= FAR_APART


def test_every_lock_is_counted_and_compared(program, tmp_path):
    lockswap = Lockswap(ROOT)
    names = locks()
    folder = tmp_path / "campaign"
    done = lockswap(
        "compare", "-l", ",".join(names), "-r", "1", "-t", "2", "--out", folder, "--no-report",
        "--metric", "reads/s: ([0-9.]+)", "--", program, "{threads}", "20000",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with (folder / "raw.csv").open(newline="") as file:
        measured = list(csv.DictReader(file))
    assert {row["lock"]: row["status"] for row in measured} == dict.fromkeys(["none", *names], "ok")
    assert all(0 <= float(row["cpus_available"]) <= 1.1 for row in measured)
    checks = {check["lock"]: check for check in json.loads((folder / "checks.json").read_text())["checks"]}
    for name in names:
        assert checks[name]["totals"]["reads"] == 36000, name
        assert checks[name]["totals"]["writes"] == 4000, name


def test_without_a_choice_what_the_registry_says_is_compared(program, tmp_path):
    folder = tmp_path / "campaign"
    done = Lockswap(ROOT)("compare", "-r", "1", "--out", folder, "--no-report", "--", program, "1", "1000")
    assert done.returncode == 0, done.stderr
    about = tomllib.loads((folder / "campaign.toml").read_text())
    wanted = [lock["name"] for lock in rows() if lock.get("compared_by_default")]
    assert about["locks"] == ["none", "pthread", *(wanted or [name for name in locks() if name != "pthread"])]


def test_every_mutex_is_counted_and_compared(tmp_path):
    program = tmp_path / "mutexbench"
    compile_c(NATIVE / "mutexbench.c", program, "-pthread")
    names = locks("mutexes")
    folder = tmp_path / "campaign"
    done = Lockswap(ROOT)(
        "compare", "-m", ",".join(names), "-r", "1", "-t", "2", "--out", folder, "--no-report",
        "--metric", "locks/s: ([0-9.]+)", "--", program, "{threads}", "5000",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    labels = [f"mutex:{name}" for name in names]
    with (folder / "raw.csv").open(newline="") as file:
        assert {row["lock"]: row["status"] for row in csv.DictReader(file)} == dict.fromkeys(["none", *labels], "ok")
    checks = {check["lock"]: check for check in json.loads((folder / "checks.json").read_text())["checks"]}
    assert {label: checks[label]["mutex_totals"]["acquisitions"] for label in labels} == dict.fromkeys(labels, 10000)


def test_a_wrong_setting_of_the_library_is_shown(program):
    done = Lockswap(ROOT)("run", "--rwlock", "ba", "--", program, "1", "10", env={"LOCKSWAP_SPIN": "much"})
    assert done.returncode == 2 and "LOCKSWAP_SPIN" in done.stderr


def test_a_value_that_the_library_refuses_is_said_before_the_first_run(program, tmp_path):
    folder = tmp_path / "campaign"
    done = Lockswap(ROOT)(
        "compare", "-l", "ba", "--scan", "LOCKSWAP_SPIN=0,abc", "--out", folder, "--", program, "1", "9"
    )
    assert "--scan: LOCKSWAP_SPIN=abc is not a number from 0 to 1000000" in one_line_error(done)
    assert not folder.exists()
