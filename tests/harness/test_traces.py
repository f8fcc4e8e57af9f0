"""`--perf-record`: the harness understands what perf prints, and does not measure the runs under it."""

import csv
import json
import signal
import time

import pytest

from lockswap.run import traces

TRACE = """
 Summary of events:

 perf (10), 77 events, 2.4%, 173.196 msec

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   futex                  9      0   900.000     0.016     0.215     2.567      4.99%

 db bench (2) (11), 1585 events, 24.7%, 18.642 msec

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   futex                  4      1    10.000     0.016     2.500     7.500      4.99%

 writer (12), 2 events, 0.1%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   futex                  1      0    30.000    30.000    30.000    30.000      0.00%
"""

SWITCHES = """
            perf    11   5.000000: PERF_RECORD_SWITCH IN
        db bench    11   5.100000: PERF_RECORD_SWITCH OUT
        db bench    11   5.130000: PERF_RECORD_SWITCH IN
        db bench    11   5.200000: PERF_RECORD_SWITCH OUT preempt
        db bench    11   5.201000: PERF_RECORD_SWITCH IN
        db bench    11   5.300000: PERF_RECORD_SWITCH OUT
        db bench    11   5.310000: PERF_RECORD_SWITCH IN
          writer    12 [001]  5.400000: PERF_RECORD_SWITCH OUT
"""


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_futex_calls_by_thread():
    found = rows(traces.futex_summary(TRACE))
    assert ["all", "threads", "5", "40.0", "8.000", "30.0"] in found
    assert found[-2:] == [
        ["writer", "1", "30.0", "30.000", "30.0"],
        ["db", "bench", "(2)", "4", "10.0", "2.500", "7.5"],
    ]


def test_time_off_the_cpu():
    found = rows(traces.off_cpu_summary(SWITCHES))
    assert found[-2:] == [
        ["db", "bench", "2", "40.0", "20.000", "30.0", "1", "1.0"],
        ["writer", "0", "0.0", "0.000", "0.0", "0", "0.0"],
    ]


def test_nothing_is_an_empty_table():
    assert rows(traces.futex_summary(""))[-1][:3] == ["all", "threads", "0"]
    assert "thread" in traces.off_cpu_summary("")


def measured(folder):
    with (folder / "raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_each_cell_is_traced_once_more(lockswap, recipe, repo):
    kinds, _ = traces.usable()
    if not kinds:
        pytest.skip("perf can trace nothing here")
    recipe("rw")
    recipe("bad", "--crash")
    folder = repo / "results/c"
    done = lockswap("compare", "--out", "results/c", "-w", "rw,bad", "-l", "ba", "-t", "2", "-r", "1", "--perf-record")
    assert done.returncode == 0, done.stderr
    names = [f"2-{lock}.{kind}.txt" for lock in ("none", "pthread", "ba") for kind in kinds]
    assert sorted(path.name for path in (folder / "traces/rw").iterdir()) == sorted(names)
    assert not (folder / "traces/bad").exists()
    for name in names:
        # Where nobody waits, nobody calls futex.
        whose = "all threads" if traces.FUTEX in name else "rwbench"
        assert whose in (folder / "traces/rw" / name).read_text()
        assert f'href="traces/rw/{name}"' in (folder / "report.html").read_text()
    workload = json.loads((folder / "summary.json").read_text())["workloads"][0]
    assert workload["traces"] == sorted(f"traces/rw/{name}" for name in names)
    assert len(measured(folder)) == 8  # the runs under perf are in no figure


def test_where_perf_may_not_trace_the_campaign_goes_on(lockswap, recipe, repo, tmp_path):
    recipe("rw")
    perf = tmp_path / "perf"
    perf.write_text(
        "#!/bin/sh\n"
        "[ $1 = stat ] || { echo 'No permission to trace' >&2; exit 1; }\n"
        'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    )
    perf.chmod(0o755)
    path = f"{tmp_path}:{lockswap.env['PATH']}"
    options = ["-w", "rw", "-l", "ba", "-t", "1", "-r", "1", "--perf-record", "--no-report", "--verbose"]
    done = lockswap("compare", "--out", "results/c", *options, env={"PATH": path})
    assert done.returncode == 0, done.stderr
    for text in (done.stderr, " ".join(done.stdout.split())):
        assert "no futex traces, since 'perf trace' does not work here: No permission to trace" in text
        assert "no off-cpu traces, since 'perf record' does not work here: No permission to trace" in text
    assert {row["status"] for row in measured(repo / "results/c")} == {"ok"}
    assert not (repo / "results/c/traces").exists()


def test_resume_makes_the_traces_that_are_missing(lockswap, recipe, repo):
    kinds, _ = traces.usable()
    if not kinds:
        pytest.skip("perf can trace nothing here")
    recipe("rw")
    folder = repo / "results/c"
    child = lockswap.start(
        "compare", "--out", "results/c", "-w", "rw", "-l", "ba", "-t", "1", "-r", "1", "--perf-record", "--no-report"
    )
    try:
        while child.poll() is None and not (folder / "traces/rw").exists():
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
    finally:
        child.communicate()
    done = lockswap("compare", "--resume", folder, "--no-report")
    if child.returncode == 0:  # it was quicker
        assert "is finished" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
    assert len(list((folder / "traces/rw").iterdir())) == 3 * len(kinds)
    assert len(measured(folder)) == 4
