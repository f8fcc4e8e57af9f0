"""`lockswap compare`: whole small campaigns with a real program."""

import csv
import json
import platform
import re
import shutil
import signal
import subprocess
import time
import tomllib
from pathlib import Path

import pytest

from harness_support import goes_on, one_line_error, stays_after
from lockswap.run import cpus


def rows(folder):
    with (folder / "raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def campaign(lockswap, repo):
    """Run compare with few, short runs; the folder and what it printed."""

    def run(*args, page=False, **more):
        options = ["--out", "results/c", "--threads", "1", "--repeats", "2", "--report" if page else "--no-report"]
        done = lockswap("compare", "--verbose", *options, *args, **more)
        return repo / "results/c", done

    return run


def test_a_campaign_leaves_what_is_documented(campaign, recipe):
    recipe("rw")
    folder, done = campaign("-w", "rw", "-l", "BA,bravo-ba", page=True)
    assert done.returncode == 0, done.stderr
    for name in ("campaign.toml", "env.json", "checks.json", "raw.csv", "report.html", "summary.csv", "summary.json"):
        assert (folder / name).stat().st_size > 0, name
    about = tomllib.loads((folder / "campaign.toml").read_text())
    assert about["schema"] == 2 and about["finished"] is True
    assert about["locks"] == ["none", "pthread", "ba", "bravo-ba"]
    measured = rows(folder)
    assert len(measured) == 10 and {row["status"] for row in measured} == {"ok"}
    for row in measured:
        assert float(row["metric.reads"]) > 0 and float(row["wall_s"]) > 0 and float(row["cpu_s"]) > 0
        # Peak memory is the program's (a few MB), not that of Python or perf that started it.
        assert 500 < float(row["max_rss_kb"]) < 8000
        assert row["steal_share"] and row["load1"] and 0 <= float(row["cpus_available"]) <= 1.1
    assert str(folder) in done.stdout.replace("results/c", str(folder)) and "report.html" in done.stdout
    checks = json.loads((folder / "checks.json").read_text())["checks"]
    counted = {check["lock"]: check.get("totals", {}).get("reads") for check in checks}
    assert counted == {"none": None, "pthread": 36000, "ba": 36000, "bravo-ba": 36000}


def test_no_paths_or_host_names_are_kept(campaign, recipe, repo):
    recipe("rw", "--crash")
    folder, _ = campaign("-w", "rw", "-l", "ba", page=True)
    for file in folder.rglob("*"):
        if file.suffix in (".toml", ".json", ".csv", ".txt", ".html"):
            text = file.read_text()
            assert str(repo) not in text, file
            assert "/dev/shm/lockswap" not in text, file
            if len(platform.node()) > 3:
                assert platform.node() not in text, file


@pytest.mark.parametrize(
    ("mode", "status", "says"),
    [
        (["--crash"], "crashed", "SIGSEGV"),
        (["--status", "3"], "failed", "exit status 3"),
        (["--wrong"], "wrong result", "its own check of its result"),
    ],
)
def test_a_bad_run_is_a_row_that_says_so(campaign, recipe, mode, status, says):
    recipe("bad", *mode)
    recipe("good")
    folder, done = campaign("-w", "bad,good", "-l", "ba")
    assert done.returncode == 0, done.stderr
    bad = [row for row in rows(folder) if row["workload"] == "bad"]
    assert len(bad) == 8 and bad[-1]["round"] == "2"
    # Without lockswap it runs twice a round, and is given up after the third time.
    bad = [row for row in bad if row["status"] != "skipped"]
    assert len(bad) == 7
    assert all(row["status"] == status and says in row["detail"] and not row["metric.reads"] for row in bad)
    assert status in done.stdout and says in done.stdout
    assert list((folder / "failures").glob("*.txt"))


def test_a_hung_program_is_ended_and_not_tried_again(campaign, recipe):
    recipe("stuck", "--hang", timeout=0.5)
    folder, done = campaign("-w", "stuck", "-l", "ba")
    assert done.returncode == 4  # not one good run
    measured = rows(folder)
    first = [row for place, row in enumerate(measured) if row["lock"] not in {r["lock"] for r in measured[:place]}]
    again = [row for row in measured if row not in first]
    assert len(first) == 3 and len(again) == 5
    assert all(row["status"] == "hung" and "0.5 s" in row["detail"] for row in first)
    assert all(row["status"] == "skipped" and "hung once before" in row["detail"] for row in again)


def test_a_lock_that_misbehaves_does_not_spoil_the_others(campaign, recipe):
    recipe("rw", timeout=5)  # on a very busy machine the others need some of it
    folder, done = campaign("-w", "rw", "-l", "crashes,hangs,bypassed,ba")
    assert done.returncode == 0
    found = {(row["lock"], row["status"]) for row in rows(folder)}
    assert ("ba", "ok") in found and ("crashes", "crashed") in found and ("hangs", "hung") in found
    assert ("bypassed", "no lock") in found and ("bypassed", "ok") not in found
    assert "crashes: 2 of 2 runs crashed" in done.stdout
    assert "does not take the lock under test" in done.stdout


def test_a_program_without_locks_is_found_out(campaign, repo):
    folder, done = campaign("-l", "ba", "--", repo / "build/apps/rwbench", "1", "100", "--nolock")
    statuses = {(row["lock"], row["status"]) for row in rows(folder)}
    assert statuses == {("none", "ok"), ("pthread", "no lock"), ("ba", "no lock")}
    assert "0 rwlock calls seen" in done.stdout
    assert done.returncode == 4
    assert "lockswap: no lock was compared: rwbench, 1 thread, ba: no lock: 0 rwlock calls seen" in done.stderr


def test_own_command_with_a_metric(campaign, repo):
    program = repo / "build/apps/rwbench"
    for order in (
        ["--metric", "reads/s: ([0-9.]+)", "--", program, "{threads}", "1000"],
        ["--out", repo / "other", "--", program, "{threads}", "1000", "--metric", "reads/s: ([0-9.]+)"],
    ):
        folder, done = campaign("-l", "ba", *order)
        folder = repo / "other" if "--out" in order else folder
        assert done.returncode == 0, done.stderr
        assert all(float(row["metric.reads/s"]) > 0 for row in rows(folder))


@pytest.mark.parametrize(
    ("program", "locks", "says", "measured"),
    [
        (
            "mutexbench",
            [],
            "takes mutexes 1,000 times and no rwlocks: comparing mutexes",
            {"mutex:pthread", "mutex:ba"},
        ),
        ("mutexbench", ["-l", "ba"], "takes mutexes 1,000 times and no rwlocks: try -m, which swaps mutexes", set()),
        ("mutexbench", ["-m", "mcs"], "takes mutexes 1,000 times and no rwlocks", {"mutex:pthread", "mutex:mcs"}),
        ("rwbench", [], "takes rwlocks 1,000 times and no mutexes: comparing rwlocks", {"pthread", "ba", "bravo-ba"}),
        ("rwbench", ["-m", "mcs"], "takes rwlocks 1,000 times and no mutexes: try -l, which swaps rwlocks", set()),
        ("true", ["-l", "ba"], "takes no rwlocks and no mutexes: there is nothing to swap", set()),
    ],
)
def test_what_the_program_takes_is_found_out_and_said(campaign, repo, program, locks, says, measured):
    words = [program] if program == "true" else [repo / "build/apps" / program, "1", "1000"]
    folder, done = campaign(*locks, "-r", "1", "--", *words)
    line = next(line for line in done.stderr.splitlines() if " takes " in line)
    assert line.removesuffix("; 'lockswap audit' says more") == f"lockswap: {program} {says}"
    assert {row["lock"] for row in rows(folder) if row["status"] == "ok"} == {"none"} | measured
    about = tomllib.loads((folder / "campaign.toml").read_text())
    assert any(says in hint for hint in about["hints"]) == ("try" in says)
    assert about["workload"][0]["locks"] == about["locks"]
    # What was chosen is what --resume goes on with.
    if not locks and program == "mutexbench":
        assert about["request"]["mutexes"] == ["ba"] and about["against"] == "mutex:pthread"


def test_the_run_that_finds_out_is_the_check_of_the_baseline(campaign, repo):
    """So a program that runs for an hour does not run for one more."""
    log = repo / "log"
    program = f'echo "[$LOCKSWAP_RWLOCK $LOCKSWAP_MUTEX]" >> {log}; {repo}/build/apps/rwbench 1 100'
    folder, done = campaign("-l", "ba", "-r", "1", "--", "sh", "-c", program)
    assert done.returncode == 0, done.stderr
    made = log.read_text().splitlines()
    assert made[:3] == ["[pthread pthread]", "[ ]", "[ba ]"] and len(made) == 3 + 4
    checks = json.loads((folder / "checks.json").read_text())["checks"]
    assert {check["lock"]: check.get("totals", {}).get("reads") for check in checks} == {
        "none": None, "pthread": 90, "ba": 90,
    }  # fmt: skip


def test_warm_up_runs_come_first_and_are_no_rows(campaign, recipe, repo):
    prepare = """prepare = [["sh", "-c", 'echo run >> LOG']]\n"""
    recipe("rw", replace={"fixed_work": prepare.replace("LOG", str(repo / "log")) + "fixed_work"})
    folder, done = campaign("-w", "rw", "-l", "ba", "--warmup", "3", "-r", "1")
    assert done.returncode == 0, done.stderr
    assert len((repo / "log").read_text().split()) == 3 + 3 + 4  # checks, warm-up, measured
    assert len(rows(folder)) == 4
    assert tomllib.loads((folder / "campaign.toml").read_text())["request"]["warmup"] == 3


def test_how_long_it_takes_is_not_guessed_of_a_program_that_has_not_run(campaign, repo):
    """The user's command, and what comes after it, may take a moment or an hour."""
    _, done = campaign("-l", "ba", "--", repo / "build/apps/rwbench", "1", "100")
    assert "8 runs, whose length the first will show" in done.stderr
    assert "counting rwbench with none (? left)" in done.stderr
    _, done = campaign("-l", "ba", "--out", repo / "d", "--", repo / "build/apps/rwbench", "1", "100", "{seconds}")
    assert "8 runs, about 0:24" in done.stderr  # 2 seconds each, with three to count


def test_a_program_is_recorded_without_what_lies_above_the_users_folder(lockswap, repo):
    """So that a campaign can be given away: the path to the folder is the machine's."""
    (repo / "prog").symlink_to(repo / "build/apps/rwbench")
    for program, recorded in (("./prog", "./prog"), ("build/apps/rwbench", "build/apps/rwbench")):
        options = ["--no-report", "-r", "1", "-l", "ba", "--out", "c"]
        done = lockswap("compare", *options, "--versus", f"{program} 1 8", "--", program, "1", "9")
        assert done.returncode == 0, done.stderr
        text = (repo / "c/campaign.toml").read_text()
        (work,) = tomllib.loads(text)["workload"]
        assert (work["command"][0], work["versus"][0]) == (recorded, recorded) and str(repo) not in text
        shutil.rmtree(repo / "c")


def test_a_campaign_lies_where_its_user_is(lockswap, recipe, repo, tmp_path):
    recipe("rw")
    here = tmp_path / "here"
    here.mkdir()
    options = ["compare", "--no-report", "-r", "1", "-t", "1", "-l", "ba", "--name", "n"]
    done = lockswap(*options, "--", repo / "build/apps/rwbench", "1", "9", cwd=here)
    assert done.returncode == 0 and (here / "lockswap-results/n/raw.csv").exists()
    assert "Raw data: lockswap-results/n" in done.stdout
    assert not list((repo / "results").iterdir())
    assert lockswap(*options, "-w", "rw", cwd=here).returncode == 0
    assert (repo / "results/n/raw.csv").exists() and [file.name for file in here.iterdir()] == ["lockswap-results"]


@pytest.mark.parametrize("folder", ["/proc/self", "/proc/self/new", "/proc/new"])
def test_where_nothing_can_be_written_out_is_named(lockswap, repo, folder):
    error = one_line_error(lockswap.inside("compare", "--out", folder, "--", repo / "build/apps/rwbench", "1", "9"))
    assert folder in error and "with --out DIR" in error


def test_own_command_without_a_metric_is_timed(campaign):
    folder, done = campaign("-l", "ba", "--", "sh", "-c", "sleep 0.05; echo '{x}'")
    assert done.returncode == 4, done.stderr  # it takes no lock
    untouched = [row for row in rows(folder) if row["lock"] == "none"]
    assert all(float(row["metric.time"]) >= 0.05 for row in untouched)


def test_a_metric_that_matches_nothing_is_refused_before_the_rounds(campaign):
    folder, done = campaign("-l", "ba", "--metric", "speed: ([0-9]+)", "--", "sh", "-c", "echo first; echo fast: 17")
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "lockswap: --metric: in the output nothing matches /speed: ([0-9]+)/, so there is no 'speed'; "
        "it printed 'first' | 'fast: 17'"
    )
    assert not folder.exists()


def test_a_harness_that_is_terminated_while_it_looks_at_the_program_goes_on(lockswap, repo):
    goes, folder = repo / "goes", repo / "lockswap-results/c"
    bench = repo / "build/apps/mutexbench"
    script = f"if ! test -e {goes}; then touch {goes}.here; sleep 5000; fi; exec {bench} 1 1000"
    child = lockswap.start("compare", "-r", "1", "--no-report", "--out", folder, "--", "sh", "-c", script)
    deadline = time.monotonic() + 600
    while not (repo / "goes.here").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.terminate()
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130 and "--resume" in err and "continues" in err, err
    assert not (folder / "raw.csv").exists()
    goes.touch()
    done = lockswap("compare", "--resume", folder, "--no-report")
    # The look at the program is made, too: what it takes is compared.
    assert "comparing mutexes" in done.stderr and {row["lock"] for row in rows(folder)} >= {"mutex:pthread", "mutex:ba"}


def test_raw_data_is_in_the_planned_order(campaign, recipe):
    recipe("rw")
    folder, _ = campaign("-w", "rw", "-l", "ba", "--seed", "3")
    measured = rows(folder)
    assert [int(row["run"]) for row in measured] == list(range(1, 9))
    assert [row["round"] for row in measured] == ["1"] * 4 + ["2"] * 4
    assert sorted(float(row["started_s"]) for row in measured) == [float(row["started_s"]) for row in measured]


def test_ctrl_c_keeps_what_was_measured_and_resume_makes_the_rest(lockswap, recipe, repo):
    folder = repo / "results/c"
    prepare = f"""prepare = [["sh", "-c", '{stays_after(4, folder)}']]\n"""
    recipe("stays", timeout=600, replace={"fixed_work": prepare + "fixed_work"})
    child = lockswap.start("compare", "-w", "stays", "-l", "ba", "-t", "1", "-r", "2", "--name", "c")
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and (not (folder / "raw.csv").exists() or len(rows(folder)) < 4):
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=600)
    assert child.returncode == 130, err
    assert "interrupted" in err and "Traceback" not in err
    kept = rows(folder)
    assert len(kept) == 4
    assert "report.html" in out and (folder / "report.html").exists()
    assert "was interrupted after" in (folder / "report.html").read_text()
    assert tomllib.loads((folder / "campaign.toml").read_text())["finished"] is False

    goes_on(folder)
    done = lockswap("compare", "--resume", folder, "--no-report")
    assert done.returncode == 0, done.stderr
    assert "locks none, pthread, ba: 4 runs left, " in done.stderr
    complete = rows(folder)
    assert complete[: len(kept)] == kept
    assert [int(row["run"]) for row in complete] == list(range(1, 9))
    assert "finished" in one_line_error(lockswap.inside("compare", "--resume", folder))


def test_until_goes_on_until_the_intervals_are_narrow_or_the_budget_is_spent(campaign, repo):
    # Its own figure: the time of a program that does nothing varies by more than 0.1 % on any machine.
    folder, done = campaign(
        "-l", "ba", "--until", "0.1%", "--budget", "0.02", "--", repo / "build/apps/rwbench", "1", "9"
    )
    assert done.returncode == 0, done.stderr
    assert "until every interval is within 0.1 %, or 0.02 minutes are spent" in done.stderr
    about = tomllib.loads((folder / "campaign.toml").read_text())
    assert about["until"] == 0.001 and about["notes"] == ["the budget of 0.02 min was spent"] and about["finished"]
    assert "The budget of 0.02 min was spent before every interval was within 0.10 %" in done.stdout

    shutil.rmtree(folder)
    wide = ("--until", "100%", "--budget", "9", "--metric", "reads.s: ([0-9]).*")
    folder, done = campaign("-l", "ba", *wide, "--", "echo", "reads/s: 1.0")
    assert done.returncode == 4, done.stderr
    # A lock that is not taken is not waited for.
    assert max(int(row["round"]) for row in rows(folder)) == 2


def test_until_after_an_interrupt_ends_as_it_would_have(lockswap, repo):
    """The second campaign has the first one's rows of two rounds and a half; both end by themselves."""
    folder = repo / "results/c"
    options = ("-l", "ba", "--until", "100%", "-r", "6", "--out", "results/c", "--no-report", "--metric", "n: ([0-9]+)")
    program = repo / "build/apps/rwbench"
    done = lockswap("compare", *options, "--", "sh", "-c", f"{program} 1 9; echo n: 7")
    assert done.returncode == 0, done.stderr
    whole = [(row["round"], row["lock"], row["twin"]) for row in rows(folder)]
    assert len(whole) == 6 * 4  # equal figures: the least rounds are enough

    lines = (folder / "raw.csv").read_text().splitlines(keepends=True)
    (folder / "raw.csv").write_text("".join(lines[:11]))
    about = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(about.replace("finished = true", "finished = false"))
    done = lockswap("compare", "--resume", folder, "--no-report")
    assert done.returncode == 0, done.stderr
    assert [(row["round"], row["lock"], row["twin"]) for row in rows(folder)] == whole


def test_what_an_interrupted_campaign_spent_counts_in_the_budget(lockswap, repo):
    folder = repo / "results/c"
    options = ("-l", "ba", "--until", "0.1%", "-r", "2", "--budget", "0.02", "--out", "results/c", "--no-report")
    assert lockswap("compare", *options, "--", repo / "build/apps/rwbench", "1", "9").returncode == 0
    measured = rows(folder)[:8]
    measured[-1]["started_s"] = "1000"
    with (folder / "raw.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(measured[0]))
        writer.writeheader()
        writer.writerows(measured)
    about = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(about.replace("finished = true", "finished = false"))
    done = lockswap("compare", "--resume", folder, "--no-report")
    assert done.returncode == 0, done.stderr
    assert len(rows(folder)) == len(measured)
    assert "budget of 0.02 min was spent" in (folder / "campaign.toml").read_text()


def test_a_campaign_of_an_older_lockswap_is_not_resumed(lockswap, tmp_path):
    (tmp_path / "campaign.toml").write_text("schema = 1\nfinished = false\n")
    assert "older lockswap" in one_line_error(lockswap.inside("compare", "--resume", tmp_path))


@pytest.mark.parametrize(("limit", "status"), [("0.97", 3), ("0.5", 0)])
def test_the_gate_closes_on_a_slow_lock(lockswap, repo, limit, status):
    program = f"{repo}/build/apps/rwbench 1 9; test $LOCKSWAP_RWLOCK = bravo-ba && echo n: 80 || echo n: 100"
    done = lockswap(
        "compare", "-l", "bravo-ba", "--against", "ba", "--fail-below", limit, "--out", repo / "c",
        "--no-report", "--verbose", "--metric", "n: ([0-9]+)", "--", "sh", "-c", program,
    )  # fmt: skip
    assert done.returncode == status, (done.stdout, done.stderr)
    violation = (
        "gate: sh, 1 thread, bravo-ba, n: 1.25× lower than ba, 1.25× to 1.25×: below 0.97, more than 1.03× worse"
    )
    assert (violation in done.stderr) == (status == 3)
    assert f"gate: {'FAILED, 1 violation of' if status else 'passed,'} --fail-below {limit}" in done.stderr
    about = tomllib.loads((repo / "c/campaign.toml").read_text())
    assert about["against"] == "ba" and about["locks"] == ["none", "pthread", "ba", "bravo-ba"]
    assert "bravo-ba against ba, by the clock: slower (1.25× lower" in done.stdout


CRASHES = ["sh", "-c", "kill -SEGV $$"]
CRASHES_PRELOADED = ["sh", "-c", "[ -z $LOCKSWAP_RWLOCK ] || kill -SEGV $$"]


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        # Baseline and lock fail alike, always or when preloaded; no lock is taken; the lock alone crashes.
        (["--", *CRASHES], 4, "gate: sh, 1 thread, ba: not measured: crashed: died by SIGSEGV"),
        (["--", *CRASHES_PRELOADED], 4, "gate: sh, 1 thread, ba: not measured: crashed: died by SIGSEGV"),
        (["--", "true"], 4, "gate: true, 1 thread, ba: not measured: no lock: 0 rwlock calls seen"),
        (["-l", "crashes", "--", "{rwbench}", "1", "9"], 3, "gate: rwbench, 1 thread, crashes: crashed"),
    ],
)
def test_a_gate_that_measured_nothing_is_closed(lockswap, repo, args, status, says):
    program = f"{repo}/build/apps/rwbench"
    args = [program if word == "{rwbench}" else word for word in args]
    options = ["-r", "1", "--no-report", "--out", repo / "c", "--fail-below", "0.5"]
    done = lockswap("compare", "-l", "ba", *options, *args)
    assert done.returncode == status, done.stderr
    assert says in done.stderr and "gate: FAILED" in done.stderr


def test_help_lists_the_exit_statuses(lockswap):
    text = lockswap.inside("compare", "--help").stdout
    statuses = text[text.index("Exit status:") :]
    for line in ("  0 ", "  2 ", "  3 ", "  4 ", "  130 "):
        assert f"\n  {line}" in statuses, statuses


def test_a_terminated_harness_leaves_no_program_behind(lockswap, recipe, repo):
    recipe("stuck", "--hang", timeout=60)
    child = lockswap.start("compare", "-w", "stuck", "-l", "ba", "-t", "1", "-r", "1", "--no-report")

    def running():
        return [
            path.parent
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if bytes((repo / "build").resolve() / "apps/rwbench") in _bytes(path)
        ]

    deadline = time.monotonic() + 600
    while not running() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running()
    child.terminate()
    _, err = child.communicate(timeout=600)
    assert child.returncode == 130 and "Traceback" not in err
    assert not running()


def _bytes(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_workload_that_cannot_be_built_is_a_row(campaign, recipe, repo):
    recipe("rw", replace={"{apps}/rwbench": "{apps}/missing", "fixed_work": 'build = "fail.sh"\nfixed_work'})
    (repo / "apps/fail.sh").write_text("echo 'no compiler for this' >&2; exit 1\n")
    folder, done = campaign("-w", "rw", "-l", "ba")
    assert done.returncode == 4
    assert all(row["status"] == "skipped" and "no compiler for this" in row["detail"] for row in rows(folder))


CMAKE = """
cmake_minimum_required(VERSION 3.21)
project(empty LANGUAGES NONE)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/libneeded)
  message(STATUS "later is not built: what it needs is missing")
  return()
endif()
add_custom_target(later COMMAND ${CMAKE_COMMAND} -E copy apps/rwbench apps/later)
"""


@pytest.mark.parametrize("there", ["before", "since", "never"])
def test_a_benchmark_of_ours_is_built_when_it_is_not_there(campaign, recipe, repo, checkout, there):
    """What it needs may have been installed since the tree was configured."""
    recipe("rw", replace={"{apps}/rwbench": "{apps}/later"})
    (repo / "build").unlink()
    shutil.copytree(checkout / "build", repo / "build")
    (repo / "CMakeLists.txt").write_text(CMAKE)
    for moment in ("before", "configure", "since"):
        if moment == "configure":
            subprocess.run(["cmake", "-S", repo, "-B", repo / "build", "-G", "Ninja"], check=True, capture_output=True)
        elif moment == there:
            (repo / "libneeded").touch()
    folder, done = campaign("-w", "rw", "-l", "ba")
    assert "building later for rw" in done.stderr
    if there == "never":
        assert done.returncode == 4
        why = "'later' cannot be built: later is not built: what it needs is missing"
        assert {(row["status"], row["detail"]) for row in rows(folder)} == {("skipped", why)}
    else:
        assert done.returncode == 0, done.stderr


def test_a_program_of_a_package_is_not_built(campaign, recipe, repo):
    recipe("rw", replace={"{apps}/rwbench": "of-a-package"})
    folder, done = campaign("-w", "rw", "-l", "ba")
    assert done.returncode == 4
    why = "'of-a-package' is not installed: './run.sh' installs what workloads need"
    assert {(row["status"], row["detail"]) for row in rows(folder)} == {("skipped", why)}


def test_a_workload_is_built_when_it_is_not_there(campaign, recipe, repo):
    recipe("rw", replace={"{apps}/rwbench": "{apps}/built-now", "fixed_work": 'build = "make.sh"\nfixed_work'})
    (repo / "apps/make.sh").write_text('cp "$LOCKSWAP_APPS/rwbench" "$LOCKSWAP_APPS/built-now"\n')
    try:
        _, done = campaign("-w", "rw", "-l", "ba")
        assert done.returncode == 0, done.stderr
    finally:
        (repo / "build/apps/built-now").unlink()


def test_too_little_memory_is_a_row(campaign, recipe):
    recipe("rw", replace={"fixed_work": "memory_mb = 100000000\nfixed_work"})
    folder, _ = campaign("-w", "rw", "-l", "ba")
    assert all("needs 100000000 MB" in row["detail"] for row in rows(folder))


def test_preparation_runs_unswapped_before_each_run(campaign, recipe, repo):
    prepare = """prepare = [["sh", "-c", 'echo "[$LD_PRELOAD]" >> ../../log; echo > {tmp}/x']]\n"""
    recipe("rw", replace={"fixed_work": prepare + "fixed_work"})
    text = (repo / "apps/recipes/rw.toml").read_text().replace("../../log", str(repo / "log"))
    (repo / "apps/recipes/rw.toml").write_text(text)
    _, done = campaign("-w", "rw", "-l", "ba", env={"LD_PRELOAD": ""})
    assert done.returncode == 0, done.stderr
    assert (repo / "log").read_text().split() == ["[]"] * 11  # 3 checks, 8 runs


def test_works_without_perf(campaign, recipe, tmp_path):
    recipe("rw")
    # A PATH with everything but perf.
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("env", "sh", "bash", "cat", "git", "taskset"):
        (tools / tool).symlink_to(shutil.which(tool))
    folder, done = campaign("-w", "rw", "-l", "ba", env={"PATH": str(tools)})
    assert done.returncode == 0, done.stderr
    assert "perf is not usable" in done.stderr
    assert all(row["context_switches"] and not row["cpu_migrations"] for row in rows(folder))
    assert "Perf is not usable" in done.stdout


def test_pinning_is_recorded_and_used(campaign, repo):
    if len(cpus.cpus()) < 2:
        pytest.skip("one CPU")
    folder, done = campaign(
        "-l", "ba", "--pin", "compact", "--metric", "allowed:\\s+([0-9]+)", "--",
        "sh", "-c", "n=$(nproc); echo allowed: $n",
    )  # fmt: skip
    assert done.returncode == 4, done.stderr  # it takes no lock
    assert {row["metric.allowed"] for row in rows(folder) if row["lock"] == "none"} == {"1"}
    assert tomllib.loads((folder / "campaign.toml").read_text())["pin"] == "compact"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["-w", "nothing"], "no workload 'nothing'"),
        (["--range", "list-rw"], "no workload of a campaign takes such locks: name one with -w"),
        (["-w", "rw", "-l", "foo"], "no rwlock 'foo'"),
        (["-w", "rw", "-t", "1,x"], "1,2,4,8"),
        (["-w", "rw", "-t", "0"], "1 or more"),
        (["-w", "rw", "-r", "0"], "repeats"),
        (["-w", "rw", "--warmup", "0"], "warmup"),
        (["-w", "rw", "--wait", "x"], "park, spin"),
        (["-w", "rw", "--pin", "x"], "compact"),
        (["-w", "rw", "--name", "../x"], "--name"),
        (["-w", "rw", "--until", "half"], "write it like 5%"),
        (["-w", "rw", "--until", "0%"], "write it like 5%"),
        (["-w", "rw", "--budget", "0"], "budget"),
        (["-w", "rw", "--against", "foo"], "no rwlock 'foo'"),
        (["-w", "rw", "--fail-below", "0"], "fail-below"),
        (["-w", "rw", "--metric", "x(.)"], "command of your own"),
        (["-w", "rw", "--", "true"], "not both"),
        (["--metric", "no group", "--", "true"], "exactly one group"),
        (["--metric", "([", "--", "true"], "is not a valid regex"),
        (["-t", "1,2", "--", "true"], "{threads}"),
        (["--", "no-such-program"], "not found"),
        (["-w", "rw", "--numactl", "'"], "--numactl"),
        (["--resume", "nowhere"], "neither a campaign nor a profile"),
        (["--resume", "nowhere", "-l", "ba"], "drop --rwlock"),
    ],
)
def test_bad_input(lockswap, recipe, args, says):
    recipe("rw")
    assert says in one_line_error(lockswap.inside("compare", *args))


def test_nothing_named_is_nothing_run(lockswap, recipe, repo):
    recipe("rw")
    recipe("other", replace={'tags = ["quick"]\n': "run_s = 3.0\n"})
    recipe("rare", replace={'tags = ["quick"]': 'tags = ["long"]'})
    before = list(repo.rglob("*"))
    done = lockswap("compare", "-l", "ba", "-t", "1,4")
    assert done.returncode == 2 and done.stdout == ""
    first, quick, whole, *_ = done.stderr.splitlines()
    assert first.startswith("lockswap: nothing was run: ")
    assert re.split("  +", quick)[1:] == ["lockswap compare -l ba -t 1,4 --quick", "1 workload, 1 lock, 48 runs"]
    # 7 rounds of 4 runs, with 1 and 4 threads; how long one of `rw` takes nobody knows.
    assert re.split("  +", whole)[1:] == ["lockswap compare -l ba -t 1,4 -w all", "2 workloads, 1 lock, 112 runs"]
    assert list(repo.rglob("*")) == before

    recipe("rw", replace={"fixed_work = true": "fixed_work = true\nrun_s = 8.0"})
    _, quick, whole, *_ = lockswap("compare", "-l", "ba", "-t", "1,4").stderr.splitlines()
    # A quarter of the work: 24 runs each of 1/4 and 1 s, 3 checks of 1/2 s with 2 threads, and 0.2 s more for each.
    assert quick.endswith("48 runs: about 1 minute")
    # 28 runs each of 1 and 4 s, and of 3/8 and 3/2 s; 3 checks each of 2 and 3/4 s; 0.2 s more for each: 225 s.
    assert whole.endswith("112 runs: about 4 minutes")


def test_all_is_every_workload_but_those_by_name_only(lockswap, recipe, repo):
    recipe("rw")
    recipe("other", replace={'tags = ["quick"]\n': ""})
    recipe("rare", replace={'tags = ["quick"]': 'tags = ["long"]'})
    done = lockswap("compare", "-w", "all", "-l", "ba", "-t", "1", "-r", "1", "--out", "c", "--no-report")
    assert done.returncode == 0, done.stderr
    assert {row["workload"] for row in rows(repo / "c")} == {"rw", "other"}
    assert "leaves out" not in done.stdout


def test_a_quick_campaign_has_one_number_of_threads_and_says_what_it_leaves_out(lockswap, recipe, repo):
    recipe("rw")
    recipe("other", replace={'tags = ["quick"]\n': ""})
    done = lockswap("compare", "--quick", "-l", "ba", "-r", "1", "--out", "c", "--no-report", "--verbose")
    assert done.returncode == 0, done.stderr
    assert {(row["workload"], row["threads"]) for row in rows(repo / "c")} == {("rw", "2")}
    said = " ".join(done.stdout.split())
    assert "leaves out other, and other numbers of threads: 'lockswap compare -w all' has them" in said


def test_it_is_said_where_results_go_and_how_to_go_on(campaign, recipe):
    recipe("rw")
    _, done = campaign("-w", "rw", "-l", "ba")
    assert "results go to results/c; Ctrl-C keeps what is measured" in done.stderr
    assert "'lockswap compare --resume results/c' continues" in done.stderr


def test_an_existing_campaign_is_not_overwritten(lockswap, recipe, campaign):
    recipe("rw")
    campaign("-w", "rw", "-l", "ba")
    assert "has a campaign already" in one_line_error(lockswap.inside("compare", "-w", "rw", "--name", "c"))
