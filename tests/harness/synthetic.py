"""A made-up campaign's folder: every kind of row that there is, shaped like real measurements."""

import random
from pathlib import Path

from lockswap.records.folder import Folder, RawWriter
from lockswap.records.row import Row

LOCKS = ["none", "pthread", "ba", "bravo-ba", "pf-t"]
THREADS = [1, 2, 4, 8]
# Reads and writes a second: per lock, per thread count. glibc starves its writer.
READS = {
    "none": [21e6, 24e6, 25e6, 24e6],
    "pthread": [20.6e6, 23.5e6, 24e6, 23e6],
    "ba": [21e6, 22e6, 14e6, 11e6],
    "bravo-ba": [24e6, 61e6, 58e6, 55e6],
    "pf-t": [21e6, 21e6, 12e6, 8e6],
}
WRITES = {
    "none": [9800, 400, 20, 0],
    "pthread": [9700, 380, 18, 0],
    "ba": [9900, 8800, 5200, 4100],
    "bravo-ba": [9600, 7000, 4000, 2900],
    "pf-t": [9900, 8500, 4800, 3300],
}
WORK_S = {"none": 2.0, "pthread": 2.05, "ba": 2.0, "bravo-ba": 1.4}


def metric(name: str, role: str, unit: str, better: str) -> dict:
    return {"name": name, "role": role, "unit": unit, "better": better}


def workload(name: str, title: str, metrics: list[dict], **more) -> dict:
    return {
        "name": name, "title": title, "source": "made up", "measures": "These figures are made up.", "note": "",
        "command": ["{apps}/" + name, "{threads}", "{seconds}"], "params": {}, "threads": THREADS,
        "threads_label": "threads", "seconds": 2, "fixed_work": False, "own": False, "metric": metrics, **more,
    }  # fmt: skip


def write(path: Path, rounds: int = 7, finished: bool = True, seed: int = 1, better: dict | None = None) -> Path:
    """`better`: by how much a lock reads more than the tables say."""
    dice = random.Random(seed)
    folder = Folder(path)
    folder.create()
    starving = workload(
        "starving",
        "Readers that never pause, and one writer",
        [
            metric("reads", "reads", "reads/s", "higher"),
            metric("writes", "writes", "writes/s", "higher"),
            metric("read-p99.9", "time", "ns", "lower"),
            metric("fairness", "total", "least/most", "higher"),
        ],
        threads_label="reader threads (plus one writer)",
    )
    timed = workload(
        "timed",
        "A fixed amount of work",
        [metric("time", "time", "s", "lower")],
        fixed_work=True,
        threads=[2],
        note="A note: the time includes loading.",
    )
    broken = workload("broken", "All that can go wrong", [metric("ops", "total", "ops/s", "higher")], threads=[1, 2])
    hopeless = workload("hopeless", "Not a single good run", [metric("ops", "total", "ops/s", "higher")], threads=[1])
    workloads = [starving, timed, broken, hopeless]
    folder.write_campaign(
        {
            "name": path.name,
            "started": "2026-01-02T03:04:05+00:00",
            "command_line": "lockswap compare <made & up>",
            "finished": finished,
            "locks": LOCKS,
            "repeats": rounds,
            "seed": seed,
            "planned_runs": rounds * 130,
            "notes": [],
            "hints": [],
            "wait": "park",
            "quick": False,
            "pin": "",
            "numactl": "",
            "request": {},
            "workload": workloads,
        }
    )
    folder.write_env(
        {
            "schema": 1, "recorded": "2026-01-02T03:04:05+00:00",
            "cpu": {"model": "A CPU", "online": 2, "usable": 2, "topology": "1 package", "governor": "powersave",
                    "virtualisation": "kvm"},
            "memory_mb": 8000, "os": "Debian", "kernel": "Linux 6", "glibc": "glibc 2.36", "compiler": "GCC 12",
            "lockswap": {"library": "0.1.0", "harness": "0.1.0", "commit": "abc"},
            "perf_events": ["task-clock", "context-switches"], "load_at_start": 3.0,
        }
    )  # fmt: skip
    folder.write_checks(
        [
            {"workload": "starving", "lock": "bravo-ba", "status": "ok", "detail": "", "processes": 1, "calls": 1000,
             "locks": 1, "totals": {"reads": 900, "writes": 100, "revocations": 7}, "fast_read_share": 0.9997,
             "operations": None},
            {"workload": "broken", "lock": "pf-t", "status": "no lock", "detail": "0 rwlock calls seen"},
        ]
    )  # fmt: skip
    raw = RawWriter(folder, ["reads", "writes", "read-p99.9", "fairness", "time", "ops"])
    number = 0

    def add(round_: int, name: str, lock: str, threads: int, status="ok", detail="", second_run=0, **metrics) -> None:
        nonlocal number
        number += 1
        row = Row(number, round_, name, lock, threads, status, detail, second_run=second_run)
        if status in ("ok", "wrong result", "hung"):
            row.numbers = {
                "started_s": number, "wall_s": 2.0, "cpu_s": 1.9 * min(threads, 2) * dice.uniform(0.95, 1),
                "user_s": 1, "sys_s": 0.5, "max_rss_kb": dice.randint(4000, 4400), "page_faults": 100,
                "context_switches": threads * dice.randint(900, 1300), "cpu_migrations": 3, "load1": 1.0,
                "steal_share": 0.0, "cpus_available": 0.95,
            }  # fmt: skip
        row.metrics = metrics
        if name == "starving" and round_ == 3 and lock == "ba":
            row.disturbed, row.numbers["steal_share"] = 1, 0.4
        raw.add(row)

    for round_ in range(1, rounds + 1):
        for place, threads in enumerate(THREADS):
            drift = dice.uniform(0.8, 1)
            for lock, second_run in (*((lock, 0) for lock in LOCKS), ("none", 1)):
                noise = [drift * dice.lognormvariate(0, 0.05) for _ in range(2)]
                more = (better or {}).get(lock, 1)
                add(round_, "starving", lock, threads, second_run=second_run,
                    reads=more * READS[lock][place] * noise[0], writes=float(round(WRITES[lock][place] * noise[1])),
                    fairness=min(1.0, 0.9 * noise[1]),
                    **{"read-p99.9": threads**3 * 100 / noise[0]})  # fmt: skip
        for lock, second_run in (*((lock, 0) for lock in WORK_S), ("none", 1)):
            add(round_, "timed", lock, 2, second_run=second_run, time=WORK_S[lock] * dice.lognormvariate(0, 0.03))
        add(round_, "timed", "pf-t", 2, "wrong result", "its checksum differs")
        for threads in (1, 2):
            add(round_, "broken", "none", threads, ops=1000 * dice.lognormvariate(0, 0.1))
            add(round_, "broken", "pthread", threads, ops=1000 * dice.lognormvariate(0, 0.1))
            if round_ <= 3:
                add(round_, "broken", "ba", threads, "crashed", "died by SIGSEGV")
            else:
                add(round_, "broken", "ba", threads, "skipped", "not tried again: crashed 3 times before")
            if round_ == 2:
                add(round_, "broken", "bravo-ba", threads, "failed", "exit status 1: <b>no & memory</b>")
            else:
                add(round_, "broken", "bravo-ba", threads, ops=1500 * dice.lognormvariate(0, 0.1))
            add(round_, "broken", "pf-t", threads, "no lock", "0 rwlock calls seen")
        for lock in LOCKS:
            add(round_, "hopeless", lock, 1, "skipped", "needs 12400 MB of memory, 8000 MB are available")
    raw.close()
    return path


READS_AND_WRITES = [metric("reads", "reads", "reads/s", "higher"), metric("writes", "writes", "writes/s", "higher")]


def plain(
    path: Path,
    *workloads: tuple[str, list[dict], dict[str, dict[str, list[float]]]],
    rounds: int = 7,
    noise: float = 0.02,
    cpu: dict[str, float] | None = None,
    switches: dict[str, float] | None = None,
    fails: dict[str, tuple[str, str]] | None = None,
    busy: int = 0,
    seed: int = 1,
    fixed_work: bool = False,
    **about: object,
) -> Path:
    """A campaign whose truth is known: each workload is (name, metrics, {lock: {metric: [value a thread count]}}).

    `noise` is the standard deviation of a run; `cpu` and `switches` say by how much a lock uses more than another;
    `fails` has the status and detail of locks whose runs fail; in the first `busy` rounds the machine is busy.
    """
    dice = random.Random(seed)
    folder = Folder(path)
    folder.create()
    infos, names = [], []
    for name, metrics, figures in workloads:
        threads = THREADS[: max(len(values) for of in figures.values() for values in of.values())]
        mutexes = {"against": "mutex:pthread"} if "mutex:pthread" in figures else {}
        title = f"The workload {name}"
        infos.append(
            workload(name, title, metrics, threads=threads, locks=list(figures), fixed_work=fixed_work, **mutexes)
        )
        names += [found["name"] for found in metrics if found["name"] not in names]
    locks = list(dict.fromkeys(lock for _, _, of in workloads for lock in of))
    folder.write_campaign(
        {
            "name": path.name, "started": "2026-01-02T03:04:05+00:00", "command_line": "lockswap compare",
            "finished": True, "locks": locks, "repeats": rounds, "seed": seed, "planned_runs": 1,
            "notes": [], "hints": [], "wait": "park", "quick": False, "pin": "", "numactl": "", "request": {},
            "workload": infos, **about,
        }
    )  # fmt: skip
    folder.write_env(
        {
            "schema": 1, "recorded": "2026-01-02T03:04:05+00:00",
            "cpu": {"model": "A CPU", "online": 8, "usable": 8, "topology": "1 package", "governor": "performance",
                    "virtualisation": "none"},
            "memory_mb": 8000, "os": "Debian", "kernel": "Linux 6", "glibc": "glibc 2.36", "compiler": "GCC 12",
            "lockswap": {"library": "0.1.0", "harness": "0.1.0", "commit": "abc"},
            "perf_events": ["task-clock", "context-switches"], "load_at_start": 0.1,
        }
    )  # fmt: skip
    raw = RawWriter(folder, names)
    number = 0
    for round_ in range(1, rounds + 1):
        for info, (name, metrics, figures) in zip(infos, workloads, strict=True):
            for place, threads in enumerate(info["threads"]):
                for lock, second_run in (*((lock, 0) for lock in figures), ("none", 1)):
                    number += 1
                    status, detail = (fails or {}).get(lock, ("ok", ""))
                    row = Row(number, round_, name, lock, threads, status, detail, second_run=second_run)
                    row.disturbed = int(round_ <= busy)
                    row.numbers = {
                        "started_s": number, "wall_s": 2.0, "max_rss_kb": 4000, "page_faults": 100,
                        "cpu_s": 1.9 * (cpu or {}).get(lock, 1) * dice.lognormvariate(0, noise),
                        "context_switches": 1000 * (switches or {}).get(lock, 1) * dice.lognormvariate(0, noise),
                    }  # fmt: skip
                    if status == "ok":
                        row.metrics = {
                            found["name"]: figures[lock][found["name"]][place] * dice.lognormvariate(0, noise)
                            for found in metrics
                        }
                    raw.add(row)
    raw.close()
    return path
