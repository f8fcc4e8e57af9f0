#!/usr/bin/env python3
"""How the preload library behaves as a guest in a process: its variables, its output, its statistics, its company.

    preload.py LIBRARY REGISTRY FOLDER

FOLDER holds the programs built beside this file. Exit status 1 if a test fails; what cannot be tested here is
printed as skipped, with the reason.
"""

import ctypes
import errno
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

library, registry, folder = (Path(a).resolve() for a in sys.argv[1:4])
LISTED = json.loads(subprocess.run([registry], check=True, capture_output=True, text=True).stdout)
ROWS = {row["name"]: row for row in LISTED["rwlocks"] if not row["chosen"]}
LOCKS = tuple(ROWS)
PASSED_THROUGH = tuple(lock for lock in LOCKS if ROWS[lock]["passes_through"])
ASYMMETRIC = tuple(lock for lock in LOCKS if ROWS[lock]["asymmetric"])
BIASED = tuple(lock for lock in LOCKS if ROWS[lock]["biased"])
# Where one lock does: a plain one, and BRAVO over it.
PLAIN, BRAVO = next((ROWS[lock]["under"], lock) for lock in BIASED if ROWS[lock]["compared_by_default"])
NO_RWLOCK = next(m["name"] for m in LISTED["mutexes"] if m["name"] not in LOCKS and not m["chosen"])


class Skip(Exception):
    pass


def run(command, *, preload=None, before=None, **variables) -> subprocess.CompletedProcess[str]:
    """Runs a program under the library; `preload` is LD_PRELOAD if it is not the library alone, "" for none; `before`
    is called in the child."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    if preload != "":
        environment["LD_PRELOAD"] = str(library) if preload is None else preload
    environment |= {f"LOCKSWAP_{k}": str(v) for k, v in variables.items()}
    command = [str(c) for c in command]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, preexec_fn=before)


def need(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def expect_quiet(result: subprocess.CompletedProcess[str], stdout: str) -> None:
    need(result.returncode == 0, f"status {result.returncode}: {result.stderr}")
    need(result.stdout == stdout, f"stdout is {result.stdout!r}")
    need(result.stderr == "", f"stderr is {result.stderr!r}")


# ---- variables


def test_wrong_values_stop_the_program_before_main() -> None:
    wrong = {
        "RWLOCK": ["nonsense", f"{PLAIN} ", "bravo-", "bravo", f"bravo-{BRAVO}", NO_RWLOCK],
        "WAIT": ["sleep", "park,spin"],
        "SPIN": ["-1", "many", "1e3"],
        "VERBOSE": ["2", "yes"],
        "BRAVO_SLOTS": ["0", "1000", "-4096", "4k", "99999999999"],
        "BRAVO_N": ["-1", "nine"],
    }
    for name, values in wrong.items():
        for value in values:
            result = run([folder / "says_main"], **({"RWLOCK": BRAVO} | {name: value}))
            what = f"LOCKSWAP_{name}={value!r}: status {result.returncode}, {result.stderr!r}"
            need(result.returncode == 2, what)
            need(result.stdout == "", f"{what}; main was reached")
            need(result.stderr.count("\n") == 1 and result.stderr.endswith("\n"), f"not one line: {what}")
            need(f"LOCKSWAP_{name}" in result.stderr, f"does not name the variable: {what}")


def test_an_unknown_lock_is_told_the_valid_names() -> None:
    text = run([folder / "says_main"], RWLOCK="nonsense").stderr
    for lock in LOCKS:
        need(re.search(rf"(?<![\w-]){lock}(?![\w-])", text) is not None, f"{lock} is not in {text!r}")
    text = run([folder / "says_main"], RWLOCK=PLAIN, WAIT="nonsense").stderr
    for wait in ("spin", "yield", "park"):
        need(wait in text, f"{wait} is not in {text!r}")


def test_names_are_case_blind_and_have_aliases() -> None:
    names = {spelling: lock for lock in LOCKS for spelling in (lock.upper(), lock.title())}
    names |= {spelling: lock for lock in LOCKS for a in ROWS[lock]["aliases"] for spelling in (a, a.lower())}
    for given, name in names.items():
        result = run([folder / "says_main"], RWLOCK=given, VERBOSE=1)
        need(result.returncode == 0, f"{given}: {result.stderr}")
        need(re.search(rf"rwlock {name}\b", result.stderr) is not None, f"{given}: {result.stderr!r}")
    for wait in ("spin", "YIELD", "Park"):
        need(run([folder / "says_main"], RWLOCK=PLAIN, WAIT=wait).returncode == 0, wait)


def test_auto_says_what_it_took() -> None:
    taken = set()
    for topology in ("1x1x1", "1x8x2", "2x8x2"):  # how many nodes there are makes no difference
        listed = json.loads(run([registry], preload="", TOPOLOGY=topology).stdout)["rwlocks"]
        summary, lock = next((row["summary"], row["chosen"]) for row in listed if row["chosen"])
        why = summary.removesuffix(f"; here {lock}").rpartition("; ")[2]
        need(re.fullmatch(r"the process may use \d+ processors?", why) is not None, f"{topology}: {summary!r}")
        taken.add(lock)
        chosen = {"RWLOCK": "AUTO", "TOPOLOGY": topology}
        result = run([folder / "known_counts"], VERBOSE=1, **chosen)
        need(result.stdout == "done\n" and f"rwlock {lock} (auto)" in result.stderr, f"{topology}: {result.stderr!r}")
        need(f", auto as {why}, pid" in result.stderr, f"{topology}: {result.stderr!r}")
        result = run([folder / "known_counts"], STATS=1, **chosen)
        need(f"rwlock {lock} (auto)" in result.stderr, f"{topology}: {result.stderr!r}")
        need(f"\n  auto, as {why}\n" in result.stderr, f"{topology}: {result.stderr!r}")
        with tempfile.TemporaryDirectory() as tmp:
            run([folder / "known_counts"], STATS=f"{tmp}/stats", **chosen)
            (stats,) = (json.loads(f.read_text()) for f in Path(tmp).iterdir())
            need(stats["rwlock"] == lock and stats["auto"] and stats["auto_reason"] == why, str(stats))
    need(len(taken) == 2, f"auto took {taken}")


def forbid_membarrier() -> None:
    """In this process and what it executes, by a seccomp filter: membarrier fails with EPERM."""
    number = {"x86_64": 324, "aarch64": 283}[os.uname().machine]
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.EPERM
    filter_code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, refuse, 0x06, 0, 0, allow)
    code = ctypes.create_string_buffer(filter_code, len(filter_code))
    program = struct.pack("HP", 4, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, by_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, by_filter, program) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def test_asymmetric_locks_say_what_they_lack() -> None:
    for lock in LOCKS:
        result = run([folder / "known_counts"], RWLOCK=lock, before=forbid_membarrier)
        if lock in ASYMMETRIC:
            need(result.returncode == 2 and result.stdout == "", f"{lock}: {result}")
            lines = result.stderr.splitlines()
            need(len(lines) == 1 and "membarrier" in lines[0] and "without asym" in lines[0], f"{lock}: {lines}")
        else:
            expect_quiet(result, "done\n")


def test_asymmetric_locks_after_exec() -> None:
    for lock in ASYMMETRIC:
        expect_quiet(run(["/bin/sh", "-c", f"exec '{folder}/known_counts'"], RWLOCK=lock), "done\n")


def test_nothing_set_is_a_quiet_pass_through() -> None:
    expect_quiet(run([folder / "says_main"]), "main\n")
    expect_quiet(run([folder / "known_counts"]), "done\n")
    expect_quiet(run([folder / "known_counts"], RWLOCK="", WAIT=""), "done\n")


def test_pthread_wp_prefers_writers() -> None:
    for how in ("static", "init", "shared"):
        for lock in ("pthread", "pthread-wp"):
            first = "writers" if lock == "pthread-wp" and how != "shared" else "readers"
            expect_quiet(run([folder / "who_goes_first", how], RWLOCK=lock), f"{first}\n")
    with tempfile.TemporaryDirectory() as tmp:
        result = run([folder / "who_goes_first", "static"], RWLOCK="pthread-wp", STATS=f"{tmp}/stats")
        need(result.stdout == "writers\n", result.stdout + result.stderr)
        (stats,) = (json.loads(f.read_text()) for f in Path(tmp).iterdir())
        need(stats["totals"]["reads"] == 1 and stats["totals"]["writes"] == 1, str(stats["totals"]))


def test_each_lock_is_quiet() -> None:
    for lock in LOCKS:
        expect_quiet(run([folder / "known_counts"], RWLOCK=lock), "done\n")


def test_verbose_is_one_line_on_stderr() -> None:
    for lock in LOCKS:
        result = run([folder / "known_counts"], RWLOCK=lock, WAIT="yield", VERBOSE=1)
        need(result.stdout == "done\n", f"stdout is {result.stdout!r}")
        need(result.stderr.count("\n") == 1 and lock in result.stderr, f"stderr is {result.stderr!r}")
    need(run([folder / "says_main"], VERBOSE=1).stderr.count("\n") == 1, "one line where nothing is chosen, too")


def test_a_shell_substitution_stays_clean() -> None:
    result = run(["/bin/sh", "-c", f'x=$({folder}/says_main); echo "[$x]"'], RWLOCK=PLAIN, VERBOSE=1, STATS=1)
    need(result.stdout == "[main]\n", f"stdout is {result.stdout!r}")


# ---- statistics

TOTALS = {
    "reads", "fast_reads", "slow_reads_bias_off", "slow_reads_collision", "recursive_reads", "patience_reads", "writes",
    "revocations", "revocation_ns", "failed_tries", "timeouts", "foreign_releases", "hand_offs", "phases", "naps",
    "to_glibc",
}  # fmt: skip


def stats_of(command, lock: str, **variables) -> list[dict]:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "stats")
        result = run(command, RWLOCK=lock, STATS=file, **variables)
        need(result.returncode == 0, f"{lock}: {result.stderr}")
        need(result.stderr == "", f"{lock}: stderr is {result.stderr!r}")
        found = []
        for written in Path(place).iterdir():
            need(re.fullmatch(r"stats\.\d+", written.name) is not None, f"wrote {written.name}")
            found.append(json.loads(written.read_text()))
            need(found[-1]["pid"] == int(written.suffix[1:]), "the pid is not the file's")
        return found


def test_statistics_have_the_schema() -> None:
    for lock in LOCKS:
        (stats,) = stats_of([folder / "known_counts"], lock)
        need(stats["schema"] == 1 and stats["program"] == "known_counts", f"{stats}")
        need(stats["rwlock"] == lock, f"{lock} is called {stats['rwlock']}")
        need(set(stats["totals"]) == TOTALS, f"{lock}: totals are {sorted(stats['totals'])}")
        need(stats["locks"] >= 3, f"{lock}: {stats['locks']} locks")
        need(1 <= len(stats["busiest"]) <= 10, f"{lock}: {len(stats['busiest'])} busiest")
        for entry in stats["busiest"]:
            need(set(entry) >= (TOTALS - {"to_glibc"}) | {"address"}, f"{lock}: {sorted(entry)}")
        order = [e["reads"] + e["writes"] for e in stats["busiest"]]
        need(order == sorted(order, reverse=True), f"{lock}: the busiest are not in order: {order}")


def test_statistics_count_exactly() -> None:
    for lock in LOCKS:
        (stats,) = stats_of([folder / "known_counts"], lock)
        t = stats["totals"]
        shared = 4 if lock not in PASSED_THROUGH else 0  # reads of the process-shared lock, which are glibc's
        want = {"reads": 1007, "writes": 7, "failed_tries": 3, "timeouts": 2}
        if lock in PASSED_THROUGH:
            want["reads"] += 4  # passed through alike
        else:
            want |= {"recursive_reads": 5, "foreign_releases": 1}
        for name, value in want.items():
            need(t[name] == value, f"{lock}: {name} is {t[name]}, the program made {value}")
        if shared:
            need(t["to_glibc"] in (8, 9), f"{lock}: to_glibc is {t['to_glibc']}: 8 calls, or 9 with init")
        busiest = stats["busiest"][0]
        need(busiest["reads"] == 1006, f"{lock}: the busiest lock has {busiest['reads']} reads")
        # 1001 pairs, 5 recursive pairs; 7 write pairs; on the third 1 + 3 + 2 + 1; 1 init and 4 pairs shared
        need(stats["calls"] == 2 * 1006 + 14 + 7 + 9, f"{lock}: {stats['calls']} calls")


def test_statistics_of_bravo_add_up() -> None:
    for lock in LOCKS:
        (stats,) = stats_of([folder / "known_counts"], lock)
        t = stats["totals"]
        parts = t["fast_reads"] + t["slow_reads_bias_off"] + t["slow_reads_collision"]
        if lock in BIASED:
            need(t["reads"] == parts + t["recursive_reads"], f"{lock}: {t}")
            need(t["fast_reads"] >= 900, f"{lock}: only {t['fast_reads']} of 1000 reads in a row were fast")
            share = t["fast_reads"] / t["reads"]
            need(
                abs(stats["fast_read_share"] - share) < 0.002, f"{lock}: share {stats['fast_read_share']}, not {share}"
            )
        else:
            need(parts == 0 and t["revocations"] == 0, f"{lock}: {t}")
            need(stats["fast_read_share"] is None, f"{lock}: share {stats['fast_read_share']}")


def test_statistics_of_a_program_that_overwrites_its_environment() -> None:
    (stats,) = stats_of([folder / "sets_title"], PLAIN)
    need(stats["totals"]["reads"] == 1, f"{stats}")


def test_each_process_writes_its_own_statistics() -> None:
    script = f"{folder}/known_counts; {folder}/known_counts; exec {folder}/known_counts"
    found = [s for s in stats_of(["/bin/sh", "-c", script], BRAVO) if s["program"] == "known_counts"]
    need(len(found) == 3, f"{len(found)} files of known_counts")
    need({s["totals"]["reads"] for s in found} == {1007}, f"{[s['totals']['reads'] for s in found]}")


def test_reports_midway() -> None:
    for lock in (PASSED_THROUGH[0], BRAVO):  # they count in two places: before glibc's functions, and in the lock
        for locks in (1, 200):
            with tempfile.TemporaryDirectory() as tmp:
                reports = Path(tmp, "stats")
                result = run([folder / "reports_midway", reports, locks], RWLOCK=lock, STATS=reports)
                need(result.returncode == 0, f"{lock}, {locks} locks: {result.stdout}{result.stderr}")
                (last,) = (json.loads(f.read_text()) for f in Path(tmp).iterdir())
                have, want = last["totals"]["reads"], int(result.stdout)
                need(have == want, f"{lock}, {locks} locks: {have} reads in the last report, the program made {want}")


def stats_at_the_end(way: str) -> tuple[int, list[dict]]:
    """How ways_to_end ended beside lockswap-stats-on-signal.so, and its reports."""
    with_reports = f"{library} {library.parent}/bin/lockswap-stats-on-signal.so"
    with tempfile.TemporaryDirectory() as tmp:
        result = run([folder / "ways_to_end", way], preload=with_reports, RWLOCK=PLAIN, STATS=f"{tmp}/stats")
        need(result.stderr == "", result.stderr)
        return result.returncode, [json.loads(f.read_text()) for f in Path(tmp).iterdir()]


def test_statistics_of_a_program_that_a_signal_ends() -> None:
    ways = {
        "killed": -signal.SIGTERM,
        "killed by its own handler": -signal.SIGTERM,
        "killed in sigsuspend": -signal.SIGTERM,
        "killed in a child of vfork": -signal.SIGTERM,
        "asks for the default action": -signal.SIGTERM,
        "handles it": 5,
        "ignores it": 6,
        "_exit": 7,
    }
    for way, status in ways.items():
        ended, found = stats_at_the_end(way)
        need(ended == status, f"{way}: status {ended}")
        need([stats["totals"]["reads"] for stats in found] == [10], f"{way}: {found}")
        need((found[0]["bypasses"] is None) == (status < 0 or status == 7), f"{way}: {found[0]['bypasses']} bypasses")
    ended, found = stats_at_the_end("killed in a forked child")
    # The child begins at 0 and calls nothing: only its parent has something to report.
    need(ended == 0 and [stats["totals"]["reads"] for stats in found] == [10], f"{ended}: {found}")
    for _ in range(20):
        ended, found = stats_at_the_end("killed among busy threads")
        need(ended == -signal.SIGTERM and len(found) == 1 and found[0]["totals"]["reads"] > 1000, f"{ended}: {found}")


def test_ctrl_c_stays_pythons() -> None:
    program = "import os, signal\ntry: os.kill(os.getpid(), signal.SIGINT)\nexcept KeyboardInterrupt: print('heard')"
    with_reports = f"{library} {library.parent}/bin/lockswap-stats-on-signal.so"
    result = run([sys.executable, "-c", program], preload=with_reports, RWLOCK=PLAIN, STATS=1)
    need(result.stdout == "heard\n" and "calls seen" in result.stderr, f"{result}")


def test_statistics_that_cannot_be_written() -> None:
    # Where the file goes is known at exit only (it has the pid): the program is not to blame, it keeps its status.
    result = run(["/bin/sh", "-c", f"{folder}/says_main; exit 5"], RWLOCK=PLAIN, STATS="/no/such/folder/file")
    need(result.returncode == 5 and result.stdout == "main\n", f"status {result.returncode}, stdout {result.stdout!r}")
    lines = result.stderr.splitlines()
    need(lines and all("LOCKSWAP_STATS" in line for line in lines), f"stderr is {result.stderr!r}")


def test_statistics_on_stderr() -> None:
    result = run([folder / "known_counts"], RWLOCK=BRAVO, STATS=1)
    need(result.stdout == "done\n", f"stdout is {result.stdout!r}")
    need("1007" in result.stderr and "writes 7" in result.stderr, f"stderr is {result.stderr!r}")


def test_processes_behind_a_shell_that_call_nothing_write_nothing() -> None:
    silent, calls = folder / "says_main", folder / "known_counts"
    script = f"{silent}; {calls}; for i in 1 2 3; do {silent}; done; exit 0"
    written = stats_of(["bash", "-c", script], PLAIN)
    need(sorted(one["program"] for one in written) == ["bash", "known_counts"], f"{written}")
    need([one["calls"] for one in written if one["program"] == "bash"] == [0], f"{written}")
    (stats,) = stats_of(["bash", "-c", f"exec {silent}"], PLAIN)
    need(stats["program"] == "says_main" and stats["calls"] == 0, f"{stats}")
    text = run(["bash", "-c", script], RWLOCK=PLAIN, STATS=1).stderr
    need(text.count("calls seen") == 2 and "This is a shell; the programs" in text, f"stderr is {text!r}")


def test_a_program_without_rwlocks_is_said_to_have_made_no_calls() -> None:
    text = run([folder / "says_main"], RWLOCK=BRAVO, STATS=1).stderr
    need("0 calls seen" in text, f"stderr is {text!r}")
    (stats,) = stats_of([folder / "says_main"], PLAIN)
    need(stats["calls"] == 0 and stats["locks"] == 0 and stats["busiest"] == [], f"{stats}")


def test_a_static_program_runs_untouched() -> None:
    program = folder / "known_counts_static"
    if not program.exists():
        raise Skip("no static C library here")
    expect_quiet(run([program], RWLOCK=BRAVO, STATS=1, VERBOSE=1), "done\n")  # it cannot even say so: it is not there


# ---- company


def programs_that_lock() -> list[list]:
    return [[folder / "known_counts"], [folder.parent / "stress/rwlock_stress", "--seconds", "0.1", "--threads", "4"]]


def in_company(preload: str, **variables) -> None:
    for command in programs_that_lock():
        for lock in (PLAIN, BRAVO):
            result = run(command, preload=preload, RWLOCK=lock, **variables)
            need(
                result.returncode == 0,
                f"{Path(command[0]).name} under {lock}: status {result.returncode}, {result.stderr}",
            )


def test_two_copies_in_one_process() -> None:
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copy(library, Path(place, "another.so"))
        in_company(f"{library} {copy}")


# ---- the registry, which lists what may be typed


def test_the_registry_lists_what_the_library_takes() -> None:
    need(LISTED["schema"] == 1, f"schema {LISTED['schema']}")
    text = run([folder / "says_main"], RWLOCK="nonsense").stderr
    shown = text.strip().partition("choose one of: ")[2].split(", ")
    need(shown == [lock["name"] for lock in LISTED["rwlocks"]], text)
    for lock in LISTED["rwlocks"]:
        for name in [lock["name"], *lock["aliases"]]:
            need(run([folder / "says_main"], RWLOCK=name).returncode == 0, f"{name} is listed, but refused")
    for wait in LISTED["waits"]:
        need(run([folder / "says_main"], RWLOCK=PLAIN, WAIT=wait["name"]).returncode == 0, f"{wait['name']} is refused")


def main() -> int:
    if len(sys.argv) != 4:
        print("usage: preload.py LIBRARY REGISTRY FOLDER", file=sys.stderr)
        return 2
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        start = time.monotonic()
        try:
            test()
            print(f"ok      {name[5:].replace('_', ' ')} ({time.monotonic() - start:.1f} s)", flush=True)
        except Skip as reason:
            print(f"skipped {name[5:].replace('_', ' ')}: {reason}")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed += 1
            print(f"FAILED  {name[5:].replace('_', ' ')}: {error}")
        except Exception:
            failed += 1
            print(f"FAILED  {name[5:].replace('_', ' ')}:\n{traceback.format_exc()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
