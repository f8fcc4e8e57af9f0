"""A campaign on several machines: how one is made of its parts, and a cluster whose workers stand for machines."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from harness_support import Lockswap, one_line_error
from lockswap.base.errors import UserError
from lockswap.campaign import many, parts
from lockswap.cluster import connection
from lockswap.findings import reading
from lockswap.records.folder import Folder, RawWriter
from lockswap.records.row import Row

WORKLOAD = {
    "name": "w", "title": "a program", "source": "a test", "measures": "", "note": "", "command": ["w"], "params": {},
    "threads": [1], "threads_label": "threads", "seconds": 1, "fixed_work": True, "own": False, "takes": ["rwlock"],
    "locks": ["none", "pthread", "ba"], "against": "pthread",
    "metric": [{"name": "m", "role": "total", "unit": "ops/s", "better": "higher"}],
}  # fmt: skip
ABOUT = {"name": "c", "started": "2026-11-29T00:00:00+00:00", "command_line": "", "finished": True, "repeats": 6,
         "seed": 1, "notes": [], "against": "pthread", "hints": []}  # fmt: skip


def part(path: Path, usable: int, speed: float, locks: tuple[str, ...] = ("none", "pthread", "ba")) -> dict[str, bytes]:
    """The files of a part, as a worker sends them: six rounds, of which the first run fails."""
    folder = Folder(path)
    path.mkdir()
    folder.write_campaign({**ABOUT, "locks": list(locks), "workload": [WORKLOAD | {"locks": list(locks)}]})
    folder.write_env({"schema": 1, "cpu": {"model": f"a model of {usable}", "usable": usable}, "kernel": "Linux"})
    folder.write_checks([{"workload": "w", "lock": "ba", "status": "ok", "detail": ""}])
    raw, number = RawWriter(folder, ["m"]), 0
    for turn in range(1, 7):
        for lock, second_run in (*((lock, 0) for lock in locks), ("none", 1)):
            number += 1
            status = "ok" if number > 1 else "failed"
            numbers = {"wall_s": 1.0, "cpu_s": 1.0, "started_s": number}
            value = {"m": speed * (2 if lock == "ba" else 1) + number} if status == "ok" else {}
            raw.add(Row(number, turn, "w", lock, 1, status, "", 0, second_run, numbers=numbers, metrics=value))
    raw.close()
    folder.write_failure("00001", f"of {usable}")
    folder.write_failure("check-w-ba", f"check of {usable}")
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def test_machines_stay_apart_in_one_report(tmp_path):
    whole = Folder(tmp_path / "c")
    whole.path.mkdir()
    there = parts.Parts(whole)
    there.keep("w", "one", part(tmp_path / "1", 2, 1000))
    there.keep("w", "two", part(tmp_path / "2", 64, 5))
    parts.merge(whole, ABOUT, there.all())
    rows = whole.rows()
    assert [row.run for row in rows] == list(range(1, 49))
    assert Counter((row.workload, row.machine) for row in rows) == {("w@one", "one"): 24, ("w@two", "two"): 24}
    assert whole.raw.read_text().splitlines()[0].endswith(",machine,metric.m")
    findings = reading.read(whole.path)
    assert [workload.name for workload in findings.campaign.workloads] == ["w@one", "w@two"]
    one, two = (w.ratio(1, "ba", w.metrics[0]).estimate for w in findings.campaign.workloads)
    assert one > 1.9 and two < 1.6  # had they been mixed, they would be the same
    assert (whole.path / "failures/00001.txt").read_text() == "of 2"
    assert (whole.path / "failures/00025.txt").read_text() == "of 64"
    assert (whole.path / "failures/check-w-ba@two.txt").read_text() == "check of 64"
    assert whole.env()["cpu"] == {"model": "one: a model of 2; two: a model of 64", "usable": 2}
    assert whole.env()["kernel"] == "Linux" and set(whole.env()["machines"]) == {"one", "two"}
    assert whole.campaign()["machines"] == ["one", "two"]


def test_a_part_is_there_in_whole_or_not_at_all(tmp_path, monkeypatch):
    there = parts.Parts(Folder(tmp_path))
    files = part(tmp_path / "1", 2, 1)
    monkeypatch.setattr(Path, "rename", lambda *unused: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(UserError, match=r"cannot write .*w@a: No space left"):
        there.keep("w", "a", files)
    monkeypatch.undo()
    assert there.all() == [] and list((tmp_path / "parts").iterdir()) == []
    (tmp_path / "parts/.w@a").mkdir()  # of a harness that was killed
    there.keep("w", "a", files)
    assert [(one.workload, one.machine) for one in there.all()] == [("w", "a")]


@pytest.mark.parametrize("name", ["../x", "/etc/x", "failures/../../x", ""])
def test_a_worker_writes_nowhere_else(tmp_path, name):
    there = parts.Parts(Folder(tmp_path / "c"))
    with pytest.raises(UserError, match="which is not in the campaign's folder"):
        there.keep("w", "a", {name: b""})
    assert sorted(tmp_path.rglob("x")) == []


def test_without_dask_a_line_says_how_to_get_it(lockswap, recipe, monkeypatch):
    recipe("rw")
    monkeypatch.setattr(connection, "find_spec", lambda name: None)
    done = lockswap.inside("compare", "--scheduler", "local", "-w", "rw", "-l", "ba", "-r", "1")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("lockswap: --scheduler needs the Python package distributed (Dask), which is missing: ")


def test_dask_is_loaded_for_a_scheduler_only():
    code = (
        "import sys, lockswap.cli, lockswap.campaign.compare; sys.exit('distributed' in sys.modules or 'dask' in "
        "sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": connection_path()})


def connection_path() -> str:
    return str(Path(connection.__file__).parents[2])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--each-machine", "-w", "rw"), "--each-machine needs a cluster"),
        (("--scheduler", "local", "--", "true"), "--scheduler needs the locks to compare"),
    ],
)
def test_what_it_refuses(lockswap, recipe, words, says):
    recipe("rw")
    assert says in one_line_error(lockswap.inside("compare", *words))


def test_the_address_of_a_cluster_is_not_written_down():
    words = ["compare", "--scheduler", "tcp://host17:8786", "-w", "x", "--scheduler=tcp://host17:1", "--", "p"]
    said = many.without_address(words)
    assert said == ["compare", "--scheduler", "ADDRESS", "-w", "x", "--scheduler=ADDRESS", "--", "p"]


@pytest.mark.parametrize(
    ("about", "scheduler", "says"),
    [({}, "local", "drop --scheduler"), ({many.ON_CLUSTER: True}, None, "add --scheduler ADDRESS")],
)
def test_what_resume_needs_to_know(about, scheduler, says):
    with pytest.raises(UserError, match=says):
        many.check_resumed(Path("c"), about, scheduler)


class Cluster:
    """A scheduler and workers on the loopback. Each worker is a process that stands for a machine."""

    def __init__(self, lockswap: Lockswap, folder: Path) -> None:
        pytest.importorskip("distributed")
        self.env, self.folder = lockswap.env | {"MARKS": str(folder)}, folder
        self.workers: dict[str, subprocess.Popen] = {}
        self.scheduler = self._start("dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                     "--scheduler-file", folder / "scheduler.json")  # fmt: skip
        wait_until(lambda: (folder / "scheduler.json").exists())
        self.address = json.loads((folder / "scheduler.json").read_text())["address"]

    def _start(self, *words: object, **env: str) -> subprocess.Popen:
        program = Path(sys.executable).parent / str(words[0])
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [program, *map(str, words[1:])], env=self.env | env, stdout=log, stderr=log, start_new_session=True
            )

    def add(self, name: str, **env: str) -> None:
        options = ["--name", name, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "600"]
        self.workers[name] = self._start("dask", "worker", self.address, *options, WORKER=name, **env)

    def wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address) as client:
            client.wait_for_workers(len(self.workers))

    def runs(self, name: str) -> int:
        """How many it has begun."""
        return len(list(self.folder.glob(f"run-{name}-*")))

    def end(self) -> None:
        for process in (*self.workers.values(), self.scheduler):
            process.kill()
            process.wait()


def wait_until(condition) -> None:
    limit = time.monotonic() + 600  # a guard: the machine may be very busy
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.1)


@pytest.fixture
def cluster(lockswap, tmp_path):
    found = Cluster(lockswap, tmp_path)
    yield found
    found.end()


@pytest.fixture
def four_workloads(recipe) -> list[str]:
    """Each run leaves a mark of its worker; on a worker with SLOW it takes that many seconds longer."""
    mark = """prepare = [["sh", "-c", 'touch "$MARKS/run-$WORKER-$$"; exec sleep "${SLOW:-0}"']]\nfixed_work"""
    names = ["w1", "w2", "w3", "w4"]
    for name in names:
        recipe(name, replace={"fixed_work": mark, "threads = [1, 2]": "threads = [1]"})
    return names


def complete(folder: Path, workloads: int, rounds: int) -> list[Row]:
    """The rows, of which none is missing and none is there twice."""
    rows = Folder(folder).rows()
    turns = Counter((row.workload, row.round, row.lock, row.second_run) for row in rows)
    assert set(turns.values()) == {1}
    assert len(rows) == workloads * rounds * 4  # none twice, pthread, ba
    assert [row.run for row in rows] == list(range(1, len(rows) + 1))
    assert all(row.status == "ok" and row.workload.endswith(f"@{row.machine}") for row in rows)
    return rows


@pytest.mark.full
def test_of_three_machines_one_is_killed_and_one_is_slow(lockswap, cluster, four_workloads, repo):
    for name, env in (("steady", {}), ("slow", {"SLOW": "0.5"}), ("killed", {"SLOW": "0.2"})):
        cluster.add(name, **env)
    cluster.wait_for_workers()
    out = repo / "results/c"
    options = ["-w", ",".join(four_workloads), "-l", "ba", "-r", "3", "--out", out, "--no-report"]
    child = lockswap.start("compare", "--scheduler", cluster.address, *options)
    wait_until(lambda: cluster.runs("killed") > 2)
    cluster.workers["killed"].kill()
    cluster.workers["killed"].wait()
    _, said = child.communicate(timeout=600)
    assert child.returncode == 0, said
    assert "the worker on killed was lost" in said
    rows = complete(out, 4, 3)
    machines = {row.workload.partition("@")[0]: row.machine for row in rows}
    assert set(machines) == set(four_workloads)
    # It had no time to finish one; and what it had begun is gone with it.
    assert set(machines.values()) == {"steady", "slow"}
    assert not processes_with("WORKER=killed")
    assert Folder(out).campaign()["finished"] is True and Folder(out).campaign()["machines"] == ["slow", "steady"]
    assert set(Folder(out).env()["machines"]) == {"slow", "steady"}
    done = lockswap("report", out, "--silent")
    assert done.returncode == 0, done.stderr


def processes_with(setting: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if setting.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it's gone, or somebody else's
    return found


@pytest.mark.full
def test_an_interrupted_campaign_ends_its_workers_runs_and_goes_on_later(lockswap, cluster, four_workloads, repo):
    cluster.add("one", SLOW="0.3")
    out = repo / "results/c"
    options = ["-w", "w1,w2", "-l", "ba", "-r", "2", "--out", out, "--no-report", "--each-machine"]
    child = lockswap.start("compare", "--scheduler", cluster.address, *options)
    wait_until(lambda: (out / "parts/w1@one").exists() and cluster.runs("one") > 14)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=600)
    assert child.returncode == 130 and "interrupted" in said
    wait_until(lambda: not [line for line in processes_with("WORKER=one") if "compare --resume" in line])
    kept = Folder(out).rows()
    assert {row.workload for row in kept} == {"w1@one"} and Folder(out).campaign()["finished"] is False
    cluster.add("two")
    done = lockswap("compare", "--resume", out, "--scheduler", cluster.address, "--no-report")
    assert done.returncode == 0, done.stderr
    rows = complete(out, 4, 2)  # two workloads on two machines
    assert {row.workload for row in rows} == {
        f"{workload}@{machine}" for workload in ("w1", "w2") for machine in ("one", "two")
    }
    assert [row.numbers for row in rows if row.workload == "w1@one"] == [row.numbers for row in kept]


@pytest.mark.full
def test_a_cluster_of_this_machine_alone(lockswap, recipe, repo, tmp_path):
    pytest.importorskip("distributed")
    variables = f"""prepare = [["sh", "-c", 'env >{tmp_path}/env']]\nfixed_work"""
    recipe("rw", replace={"threads = [1, 2]": "threads = [1]", "fixed_work": variables})
    out = repo / "results/c"
    done = lockswap("compare", "--scheduler", "local", "-w", "rw", "-l", "ba", "-r", "1", "--out", out, "--no-report")
    assert done.returncode == 0, done.stderr
    (machine,) = {row.machine for row in complete(out, 1, 1)}
    variables = (tmp_path / "env").read_text()
    # Dask sets them for workers, where they would change what is measured.
    assert (
        not re.search(r"^(MALLOC_TRIM_THRESHOLD_|OMP_NUM_THREADS)=", variables, re.MULTILINE) and "PATH=" in variables
    )
    assert machine.startswith("m-")
    assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", (out / "campaign.toml").read_text())


@pytest.mark.full
def test_the_script_for_slurm_makes_jobs_that_have_their_node_alone(monkeypatch):
    jobqueue = pytest.importorskip("dask_jobqueue")
    script = Path(__file__).resolve().parents[2] / "examples/slurm.py"
    monkeypatch.setattr("builtins.input", lambda: None)
    monkeypatch.setattr(jobqueue.SLURMCluster, "scale", lambda cluster, jobs: None)  # there is no sbatch here
    names: dict = {}
    exec(compile(script.read_text(), script.name, "exec"), names)
    try:
        job = names["cluster"].job_script()
    finally:
        names["cluster"].close()
    assert "#SBATCH --exclusive\n" in job and "#SBATCH -t 04:00:00\n" in job
    assert "dask_worker tcp://" in job and "--nthreads 1 " in job
