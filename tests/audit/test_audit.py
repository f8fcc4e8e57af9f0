"""`lockswap audit`: each finding from a program that shows only this one, its explanation, and real programs."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PROGRAMS = BUILD / "tests/audit"
CASES = PROGRAMS / "audit_cases"
LIBRARY = PROGRAMS / "libaudit_uses_rwlock.so"
SAFE = "safe: nothing in this run stands against swapping the rwlocks"


sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.audit import shared  # noqa: E402
from lockswap.audit.findings import MEANINGS, Audit  # noqa: E402
from lockswap.audit.verdict import of_each  # noqa: E402


def lockswap(*words: object, **more) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")} | more.pop("env", {})
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=env, timeout=600, **more)


_reports: dict[str | None, tuple[subprocess.CompletedProcess, str]] = {}


@pytest.fixture
def audit(tmp_path):
    """audit(COMMAND..., options=[...]): the JSON report; the program's stdout and status are checked.

    A case's report is made once for all tests that judge it."""

    def run(*command: object, stdout: str | None = "done\n", status: int = 0, options: tuple = (), **more) -> dict:
        case = command[1] if command[0] == CASES and not options and not more else None
        if case in _reports:
            done, text = _reports[case]
        else:
            out = tmp_path / "audit.json"
            done = lockswap("audit", "--json", "--out", out, *options, "--", *command, **more)
            assert done.returncode == status, done
            text = out.read_text()
            if case:
                _reports[case] = done, text
        assert done.returncode == status, done
        assert stdout is None or done.stdout == stdout
        report = json.loads(text)
        assert report["schema"] == 4 and not (report["safe"] and report["look_at"])
        assert report["safe"] == report["verdict"].startswith("safe: ")
        assert report["verdict"] in done.stderr
        return report

    return run


def found(report: dict) -> dict[str, int]:
    return {finding["name"]: finding["times"] for finding in report["findings"]}


def test_every_finding_has_a_meaning():
    text = (ROOT / "audit/record.h").read_text()
    names = re.findall(r"X\((\w+)\)", text[text.index("LOCKSWAP_AUDIT_FINDINGS(X)") : text.index("// clang-format on")])
    names += [shared.ALONE, shared.BETWEEN, shared.LEFT]  # which the records of all processes show together
    assert sorted(names) == sorted(MEANINGS) and len(names) > 10


CLEAN = (
    "clean",
    "no_locks",
    "fork_clean",
    "fork_mutex",
    "fork_mutex_to_another",
    "owner_dead",
    "kinds",
    "shared",
    "many",
    "threads",
    "mutexes",
    "dlopen",
    "destroy_clean",
    "long_reader",
    "join_clean",
    "exit_in_handler",
    "condvars",
    "cond_cancelled",
    "cond_shared",
    "orders_apart",
    "orders_full",
    "orders_recycled",
    "waits_without_writers",
    "waits_in_sigsuspend",
)


# Their locks are others too, or none, or not swapped.
OTHER_VERDICTS = (
    "no_locks",
    "mutexes",
    "shared",
    "condvars",
    "cond_cancelled",
    "cond_shared",
    "orders_apart",
    "waits",
    "fork_mutex",
    "fork_mutex_to_another",
    "owner_dead",
    "destroy",
    "join",
)


@pytest.mark.parametrize("case", CLEAN)
def test_nothing_is_found_where_there_is_nothing(audit, case):
    report = audit(CASES, case, LIBRARY)
    assert found(report) == {} and not report["look_at"]
    assert report["safe"] == (case != "no_locks")
    if set(OTHER_VERDICTS).isdisjoint({case, case.partition("_")[0]}):
        assert report["verdict"] == SAFE


NOTES = {
    "recursive": {"recursive_read": 2},
    "recursive_waiting": {"recursive_read": 1, "recursive_read_writer_waiting": 1},
    "deadlk": {"deadlk": 2},
    "foreign_read": {"foreign_read_release": 1},
    "order_released": {"foreign_read_release": 1},
    "reset_held": {"memory_reset_while_held": 1},
    "fork_holding": {"fork_while_holding": 1},
    "fork_reading": {"fork_while_holding": 1, "recursive_read": 1},
    "fork_others": {"fork_while_others_hold": 1},
    "fork_mutex_others": {"fork_while_others_hold": 1},
    "fork_waiters": {"fork_while_holding": 1, "fork_with_waiters": 1},
    "foreign_mutex": {"foreign_mutex_release": 1},
    "ended_clean": {"foreign_mutex_release": 1},
    "join_after_taking": {"join_may_wait": 1},
    "cond_mixed": {"cond_shared_mutex_private": 1},
    "exec": {"recursive_read": 2},
}
GRAVE = {
    "shut_out": {"recursive_read_shut_out": 1},
    "foreign_write": {"foreign_write_release": 1},
    "unheld": {"release_of_unheld": 1},
    "destroy_held": {"destroy_while_held": 1},
    "destroy_awaited": {"destroy_while_held": 1, "destroy_while_awaited": 1},
    "destroy_held_by_other": {"destroy_while_held": 1},
    "destroy_held_mutex": {"destroy_while_held": 2},
    "destroy_awaited_mutex": {"destroy_while_awaited": 1},
    "destroy_uninit": {"destroy_of_uninitialised": 2},
    "init_held": {"init_while_held": 1},
    "copied": {"used_before_seen": 1},
    "join_holding": {"join_while_holding": 1},
    "join_holding_asked": {"join_while_holding": 1},
    "join_holding_write": {"join_while_holding": 1},
    "starving_writer": {"starving_writer": 1},
    "ended_holding": {"ended_holding": 3},
    "exited_holding": {"ended_holding": 3},
    "cancelled_holding": {"ended_holding": 3},
    "cond_cancelled_holding": {"ended_holding": 1},
    "fork_mutex_waits": {"fork_while_others_hold": 1, "held_over_fork": 1},
    "fork_write_waits": {"fork_while_others_hold": 1, "held_over_fork": 1},
    "in_handler": {"in_signal_handler": 2},
    "cond_unheld": {"cond_wait_unheld": 1},
    "stopped": {"stopped_in_lock_call": 1},
    "stopped_outside": {"stopped_by_signal": 1},
    "left_cancelled": {"left_lock_call": 1},
    "left_by_jump": {"left_lock_call": 1},
    "left_by_jump_deeper": {"left_lock_call": 1},
    "left_by_jump_main": {"left_lock_call": 1},
    "read_orders": {"opposite_read_orders": 1},
    "read_orders_of_one": {"opposite_read_orders": 1},
    "mixed_orders": {"opposite_mixed_orders": 1},
    "write_orders": {"opposite_orders": 1},
    "crossed_upgrades": {"opposite_orders": 1},
    "no_gate": {"opposite_orders": 1},
    "read_gate": {"opposite_orders": 1},
    "gate_of_some": {"opposite_orders": 1},
    "late_gate": {"opposite_orders": 2},
    "wait_reading": {"wait_while_reading": 1},
    "timed_wait_reading": {"wait_while_reading": 1},
    "wait_reading_writer_first": {"wait_while_reading": 1},
    "joins_reading": {"wait_while_reading": 3},
    "barrier_reading": {"wait_while_reading": 1},
    "deepbind": {"bound_elsewhere": 1},
    "namespaces": {"bound_elsewhere": 1},
}


@pytest.mark.parametrize("case", NOTES)
def test_what_a_swap_may_bear_is_a_note(audit, case):
    report = audit(CASES, case)
    assert found(report) == NOTES[case]
    assert {finding["level"] for finding in report["findings"]} == {"note"}
    assert report["safe"]


@pytest.mark.parametrize("case", GRAVE)
def test_what_must_be_looked_at_is_in_the_verdict(audit, case):
    report = audit(CASES, case, LIBRARY)
    assert found(report) == GRAVE[case]
    assert not report["safe"]
    for finding in report["findings"]:
        assert (finding["title"] in report["verdict"]) == (finding["level"] == "look")


def real_time_is_allowed() -> bool:
    tried = subprocess.run(["chrt", "--fifo", "1", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.skipif(not real_time_is_allowed(), reason="real-time policies are not allowed here")
def test_threads_with_real_time_policies_are_named(audit):
    report = audit(CASES, "real_time")
    assert found(report) == {"real_time_thread": 2}
    assert report["safe"]
    examples = report["findings"][0]["examples"]
    names = [example["other_place"]["file"] for example in examples]
    assert names == ["thread worker, SCHED_FIFO, priority 1", "thread changes, SCHED_RR, priority 1"]
    assert [example["at"].split(",")[0] for example in examples] == ["write_once", "write_in_real_time"]
    report = audit(CASES, "real_time_by_scheduler")
    (example,) = report["findings"][0]["examples"]
    assert example["other_place"]["file"] == "thread scheduled, SCHED_RR, priority 1"
    assert example["at"].startswith("write_by_the_scheduler, ")


def test_a_program_that_waits_for_itself_and_is_killed_is_still_told_about(audit):
    report = audit(CASES, "self_deadlock", status=128 + 9)
    assert found(report) == {"self_deadlock": 1}
    assert "write by a thread that reads (1 time)" in report["verdict"]
    (example,) = report["findings"][0]["examples"]
    assert example["at"].startswith("write_lock, cases.c:")
    assert example["other_at"].startswith("read_lock, cases.c:")
    assert report["counts"]["reads"] == 1


def test_call_sites_are_the_program_s(audit):
    (finding,) = audit(CASES, "foreign_read")["findings"]
    (example,) = finding["examples"]
    assert example["place"]["file"] == str(CASES)
    source = (ROOT / "tests/audit/cases.c").read_text().splitlines()
    line = 1 + next(n for n, text in enumerate(source) if "run(read_lock, &lock);" in text)
    assert f"foreign_read, cases.c:{line + 1} " in example["at"]
    assert example["thread"] != example["other_thread"] != 0


@cache
def report_for_people(case: str) -> str:
    """In one line."""
    return " ".join(lockswap("audit", "--", CASES, case).stderr.split())


def test_what_a_finding_is_about_is_in_the_verdicts_of_that_kind(audit):
    for case, looks in (
        ("destroy_held_mutex", {"mutexes"}),
        ("destroy_held_by_other", {"rwlocks"}),
        ("destroy_uninit", {"rwlocks", "mutexes"}),
        ("ended_holding", {"rwlocks", "mutexes"}),
        ("fork_mutex_waits", {"mutexes"}),
        ("join_holding", {"mutexes"}),
        ("join_holding_write", {"rwlocks"}),
    ):
        report = audit(CASES, case)
        assert {kind for kind, one in report["verdicts"].items() if one["level"] == "look"} == looks
    (finding,) = audit(CASES, "destroy_held_mutex")["findings"]
    by_other, own = finding["examples"]
    assert by_other["other_thread"] not in (0, by_other["thread"]) and own["other_thread"] == own["thread"]
    assert functions(by_other) == ["destroy_held_mutex", "holds_mutex"]


def test_where_a_lock_was_taken_that_a_thread_left_behind(audit):
    (finding,) = audit(CASES, "cancelled_holding")["findings"]
    assert {example["at"].split(",")[0] for example in finding["examples"]} == {"lock_mutex", "write_lock", "read_lock"}
    assert "cancelled_holding" not in report_for_people("ended_clean")
    assert "took it at lock_mutex, cases.c:" in report_for_people("ended_holding")


def functions(example: dict) -> list[str]:
    """The functions where it happened, where the other place is, and where more are; without lines."""
    return [place.split(",")[0] for place in (example["at"], example["other_at"], *example["more_at"])]


def test_both_orders_are_named_with_the_places_of_both_locks(audit):
    (finding,) = audit(CASES, "read_orders")["findings"]
    (example,) = finding["examples"]
    assert functions(example) == ["read_timed", "take_both", "take_both", "take_both"]
    assert example["at"] != example["more_at"][0]
    assert 0 != example["thread"] != example["other_thread"] != 0
    says = report_for_people("read_orders")
    assert re.search(r"1 time in audit_cases \(\d+\): thread \d+ takes A at take_both, cases.c:\d+", says), says
    assert re.search(r"then B at read_timed, .*; thread \d+ takes B at take_both, .*, then A at take_both, ", says), (
        says
    )
    assert "the same thread takes B at" in report_for_people("read_orders_of_one")


def test_a_wait_is_named_with_what_is_read_and_who_writes(audit):
    (finding,) = audit(CASES, "wait_reading")["findings"]
    (example,) = finding["examples"]
    assert functions(example) == ["wait_while_holding", "wait_while_holding", "write_once", ""]
    (finding,) = audit(CASES, "wait_reading_writer_first")["findings"]
    (example,) = finding["examples"]
    assert functions(example) == ["wait_reading_writer_first", "read_lock", "write_once", ""]
    says = report_for_people("wait_reading")
    assert re.search(r"thread \d+ waits at wait_while_holding, .*, reads since wait_while_holding, ", says), says
    assert "; a writer asks at write_once, cases.c:" in says


def test_a_join_is_named_with_what_is_held_and_who_asks_for_it(audit):
    for case in ("join_holding", "join_holding_asked"):
        (finding,) = audit(CASES, case)["findings"]
        (example,) = finding["examples"]
        assert functions(example) == ["lock_mutex", "lock_mutex", "join_for_ever", ""], case
        assert example["thread"] != example["other_thread"]
    says = report_for_people("join_holding")
    assert re.search(r"thread \d+ waits for the end of thread \d+ at join_for_ever, cases.c:\d+ ", says), says
    assert re.search(r"and holds what it took at lock_mutex, .*, which thread \d+ asks for at lock_mutex, ", says), says


def test_a_full_table_of_orders_is_told(audit):
    report = audit(CASES, "orders_full")
    assert report["counts"]["orders_forgotten"] > 300 * 299 // 2 - 32768 - 1
    assert any("was full" in note for note in report["notes"])
    assert audit(CASES, "orders_recycled")["counts"]["orders_forgotten"] == 0


def test_a_library_that_goes_around_the_preload_is_named(audit):
    for case, how in (("deepbind", "RTLD_DEEPBIND"), ("namespaces", "dlmopen")):
        (finding,) = audit(CASES, case, LIBRARY)["findings"]
        assert finding["examples"][0]["other_place"]["file"] == f"{LIBRARY} ({how})"


def test_counts_by_form_and_clock(audit):
    counts = audit(CASES, "clocks")["counts"]
    want = {"writes": 1, "reads": 1, "rw_deadlk": 2, "rw_timeouts": 1, "rw_invalid": 1, "timedrdlock": 2}
    want |= {"rw_clock_realtime": 3, "rw_clock_monotonic": 1, "rw_clock_other": 1, "clockwrlock": 2, "rwlocks": 1}
    assert {name: counts[name] for name in want} == want


def test_objects_kinds_and_holds(audit):
    counts = audit(CASES, "kinds")["counts"]
    assert (counts["rwlocks"], counts["rw_prefer_writer_nonrecursive"]) == (2, 2)
    report = audit(CASES, "shared")
    assert report["counts"]["rw_process_shared"] == 1 and report["counts"]["rw_calls_shared"] == 2
    assert report["verdict"].startswith("safe: all rwlocks are process-shared")
    report = audit(CASES, "many")
    assert report["most_rwlocks_held"] == 5000
    counts = audit(CASES, "clean")["counts"]
    assert (counts["rwlocks"], counts["reads"], counts["writes"], counts["rw_destroy"]) == (4, 10, 4, 3)


def test_longest_holds_are_those_of_their_kind(audit):
    for case, held, not_held in (("fork_clean", "write", "read"), ("foreign_read", "read", "write")):
        processes = audit(CASES, case)["processes"]
        assert all(one[f"longest_{held}_ns"] > 0 == one[f"longest_{not_held}_ns"] for one in processes), processes


def test_the_longest_hold_of_a_mutex(tmp_path):
    out = tmp_path / "audit.json"
    done = lockswap("audit", "--json", "--out", out, "--", CASES, "mutex_times")
    least, most = map(int, done.stdout.split()[:2])
    report = json.loads(out.read_text())
    longest = report["longest"]["mutex"]
    # Two clocks: ours may go a little faster or slower.
    assert 0.9 * least <= longest["ns"] == report["processes"][0]["longest_mutex_ns"] <= 1.1 * most
    assert longest["at"].startswith("mutex_times, cases.c:") and not longest["goes_on"]
    assert report["longest"]["read"] is None


def test_a_wait_for_a_condition_variable_is_no_hold(tmp_path):
    out = tmp_path / "audit.json"
    done = lockswap("audit", "--json", "--out", out, "--", CASES, "cond_times")
    awake = int(done.stdout.split()[1])
    longest = json.loads(out.read_text())["longest"]["mutex"]
    assert longest["at"].startswith("waits_for_its_turn, cases.c:")
    assert longest["ns"] <= 1.1 * awake  # the wait took four times as long


def test_holds_that_do_not_end(audit):
    longest = audit(CASES, "ended_holding")["longest"]
    longest.pop("write_wait", None)  # on a busy machine
    assert {what: (one["goes_on"], one["at"].split(",")[0]) for what, one in longest.items()} == {
        "read": (True, "read_lock"),
        "write": (True, "write_lock"),
        "mutex": (True, "lock_mutex"),
    }
    assert "until the end of the process, taken at write_lock, cases.c:" in report_for_people("ended_holding")
    says = report_for_people("self_deadlock")
    assert "read for a time that is not known, since none had ended" in says and "written for" not in says


def test_a_writer_that_waits_for_seconds():
    says = report_for_people("starving_writer")
    assert re.search(r"a writer waited for up to [\d.]+ s, asked for at write_once, cases.c:", says), says
    assert re.search(r"at write_once, cases.c:\d+ \(.*?\): waited \d{4,} ms, passed by \d+ reads", says), says


def test_the_verdict_says_what_stays_glibc_s():
    def says(**counts: int) -> str:
        one = Audit(["p"], 0, [{"program": "p", "pid": 1, "counts": counts, "findings": []}], [])
        return of_each(one)["condvars"].says

    assert says(cond_waits=3, cond_waits_process_shared=3).startswith("safe: all waits are on process-shared ones")
    one = Audit(
        ["p"], 0, [{"program": "p", "pid": 1, "counts": {"mutex_lock": 1, "mutex_acquired": 1}, "findings": []}], []
    )
    assert of_each(one)["mutexes"].says.endswith("against --mutex, 1 acquisition")
    some = says(cond_waits=3, cond_waits_process_shared=1)
    assert some.endswith("3 waits; glibc's stay: 1 on process-shared ones")
    assert "glibc's" not in says(cond_waits=3)


def test_a_mutex_whose_owner_died_is_acquired(audit):
    counts = audit(CASES, "owner_dead")["counts"]
    assert (counts["mutex_owner_dead"], counts["mutex_acquired"]) == (1, 2)


def test_many_threads_are_counted_exactly(audit):
    report = audit(CASES, "threads")
    assert (report["counts"]["reads"], report["counts"]["writes"]) == (200 * 900, 200 * 100)
    assert report["most_rwlocks_held"] == 1 and report["counts"]["unrecorded"] == 0


def test_mutexes_and_condition_variables(audit):
    report = audit(CASES, "mutexes")
    counts = report["counts"]
    want = {"mutex_recursive": 2, "mutex_errorcheck": 1, "mutex_adaptive": 1, "mutex_robust": 1, "mutex_inherit": 1}
    want |= {"mutex_busy": 1, "mutex_timeouts": 1, "mutex_trylock": 1, "mutex_clocklock": 1, "cond_monotonic": 1}
    want |= {"mutex_clock_monotonic": 1, "mutex_clock_realtime": 1, "cond_clock_monotonic": 1, "mutex_init": 5}
    assert {name: counts[name] for name in want} == want
    assert report["most_mutexes_held"] == 2
    assert report["verdict"] == (
        "safe: nothing in this run stands against swapping the mutexes and condition variables; it uses no rwlocks"
    )
    says = {kind: one["says"] for kind, one in report["verdicts"].items()}
    assert says["rwlocks"].startswith("not used: no rwlock function was called")
    assert says["mutexes"].startswith("safe: nothing in this run stands against --mutex, 9 acquisitions")
    assert "glibc's stay: 1 robust, 1 priority-inheriting and 1 process-shared" in says["mutexes"]
    assert says["condvars"].startswith("safe: ") and says["condvars"].endswith(", 1 wait")


def test_waits_of_condition_variables_are_counted(audit):
    report = audit(CASES, "condvars")
    counts = report["counts"]
    # How often a thread finds that it is not its turn depends on the order: at least once, at most each time.
    assert 1 + 2 <= counts["cond_waits"] <= 10 + 2
    want = {"cond_timed": 2, "cond_clock_realtime": 1, "cond_clock_monotonic": 1, "cond_signal": 8}
    want |= {"cond_broadcast": 2, "cond_destroy": 1, "cond_init": 0, "cond_waits_process_shared": 0}
    assert {name: counts[name] for name in want} == want
    says = report["verdicts"]["condvars"]["says"]
    assert says.startswith("safe: they follow the mutexes") and f"{counts['cond_waits']} waits" in says
    assert report["verdict"] == (
        "safe: nothing in this run stands against swapping the mutexes and condition variables; it uses no rwlocks"
    )
    shared = audit(CASES, "cond_shared")
    assert (shared["counts"]["cond_waits_process_shared"], shared["counts"]["cond_clock_monotonic"]) == (1, 1)
    assert shared["verdicts"]["condvars"]["says"] == "safe: all waits are on process-shared ones, which stay glibc's"
    report = audit(CASES, "cond_unheld")
    assert {kind: one["level"] for kind, one in report["verdicts"].items()} == {
        "rwlocks": "unused",
        "mutexes": "unused",
        "condvars": "look",
    }


def test_each_kind_of_lock_has_a_verdict(audit):
    levels = {
        case: {kind: one["level"] for kind, one in audit(CASES, case)["verdicts"].items()}
        for case in ("no_locks", "clean", "foreign_write", "foreign_mutex")
    }
    assert levels == {
        "no_locks": {"rwlocks": "unused", "mutexes": "unused", "condvars": "unused"},
        "clean": {"rwlocks": "safe", "mutexes": "unused", "condvars": "unused"},
        "foreign_write": {"rwlocks": "look", "mutexes": "unused", "condvars": "unused"},
        "foreign_mutex": {"rwlocks": "unused", "mutexes": "safe", "condvars": "unused"},
    }
    report = audit(CASES, "no_locks")
    assert report["verdict"].startswith("nothing to swap: no lock function was called")
    assert any("spin locks" in line for line in report["not_looked_at"])


def test_the_report_for_people_says_what_was_not_looked_at():
    text = lockswap("audit", "--", CASES, "mutexes").stderr
    for word in (
        "rwlocks   not used",
        "mutexes   safe",
        "condvars   1 wait; timed 100 % (1), 1 by CLOCK_MONOTONIC",
        "condvars  safe",
        "not seen  of mutexes",
        "C11's mtx_ and cnd_",
    ):
        assert word in text, text


def test_a_program_behind_a_shell_or_shim_is_named(audit, tmp_path):
    (tmp_path / "shims").mkdir()
    script, shim = tmp_path / "script", tmp_path / "shims" / "tool"
    script.write_text(f"#!/bin/sh\n{CASES} clean\n")
    shim.write_text(f"#!/usr/bin/env bash\n# pyenv exec\n{CASES} clean\n")
    for file in (script, shim):
        file.chmod(0o755)
    for command, says in (
        ([script], "'script' is a shell script. The report is about the programs that it started: audit_cases"),
        ([shim], "'tool' is a shim of pyenv"),
        (
            ["sh", "-c", f"{CASES} clean; exit 0"],
            "'sh' is a shell. The report is about the programs that it started: audit_cases",
        ),
    ):
        report = audit(*command)
        assert report["notes"][0].startswith(says) and "audit_cases" in report["notes"][0], report["notes"]
        assert report["safe"]
    assert not any("shell" in note for note in audit(CASES, "clean")["notes"])


def exported(library: Path) -> set[str]:
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library], capture_output=True)
    return {line.split()[-1] for line in lines.stdout.decode().splitlines() if " A " not in line}


def test_its_functions_are_glibc_s_at_each_version():
    maps = Path("/proc/self/maps").read_text().split()
    glibc = exported(next(Path(word) for word in maps if re.search(r"/libc\.so\.6$", word)))
    ours = exported(BUILD / "liblockswap-audit.so")
    assert ours <= glibc, ours - glibc
    wanted = re.compile(
        r"(__)?pthread_(rwlock_(?!attr)|mutex_(init|destroy|unlock|(try|timed|clock)?lock)@|cond_(?!attr))"
    )
    assert {name for name in glibc if wanted.match(name)} <= ours


def test_programs_of_both_vintages_reach_it(audit):
    new = {"rw_init": 1, "rw_destroy": 1, "rdlock": 1, "tryrdlock": 1, "timedrdlock": 1, "clockrdlock": 1, "wrlock": 2}
    new |= {"trywrlock": 1, "timedwrlock": 1, "clockwrlock": 1, "rw_unlock": 5}
    old = new | {
        "rw_init": 2,
        "rw_destroy": 2,
        "rdlock": 2,
        "tryrdlock": 3,
        "trywrlock": 3,
        "wrlock": 3,
        "rw_unlock": 8,
    }
    for name, want in (("bound_new", new), ("bound_old", old)):
        counts = audit(BUILD / "tests/conformance" / name, stdout="")["counts"]
        assert {function: counts[function] for function in want} == want


def test_every_process_is_looked_at(audit):
    report = audit("sh", "-c", f"{CASES} recursive; {CASES} exec; {CASES} fork_clean", stdout=None)
    assert found(report) == {"recursive_read": 4}
    names = [process["program"] for process in report["processes"]]
    assert names.count("audit_cases") == 1 + 2 + 4, names
    text = lockswap("audit", "--", "sh", "-c", f"{CASES} clean; {CASES} clean; exit 0").stderr
    assert re.search(r"processes +\d \(audit_cases \(2\)", text), text
    assert report["counts"]["writes"] == 1 + 4


def test_the_exit_status_is_the_programs(audit):
    audit("sh", "-c", "exit 5", stdout="", status=5)
    audit("sh", "-c", "kill -TERM $$", stdout="", status=128 + 15)
    audit(CASES, "unheld", options=("--fail-on-findings",), status=3)
    audit(CASES, "recursive", options=("--fail-on-findings",))
    audit("sh", "-c", f"{CASES} unheld; exit 5", options=("--fail-on-findings",), status=5)


@pytest.fixture(scope="module")
def ends(tmp_path_factory) -> Path:
    """A program that takes a mutex and ends as its argument says: a signal's name, else an exit status."""
    return compiled(
        tmp_path_factory.mktemp("ends") / "ends",
        """
        #include <pthread.h>
        #include <signal.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/syscall.h>
        #include <unistd.h>
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
        static void* worker(void* with) {
          pthread_mutex_lock(&m);
          return with;
        }
        int main(int count, char** words) {
          pthread_t thread;
          pthread_mutex_lock(&m);
          if (strcmp(words[1], "at once") == 0) _exit(1);
          if (strcmp(words[1], "by the kernel") == 0) syscall(SYS_exit_group, 1);
          if (strcmp(words[1], "popen") == 0) return pclose(popen(words[2], "r")) == 0;
          if (count > 2) {
            pthread_create(&thread, 0, worker, 0);
            while (__atomic_load_n(&m.__data.__lock, __ATOMIC_ACQUIRE) != 2) {
            }
            if (words[1][0] == '-') raise(-atoi(words[1]));
            exit(0);
          }
          pthread_mutex_unlock(&m);
          int n = atoi(words[1]);
          if (n < 0) raise(-n);
          if (n == 124) pause();
          return n;
        }
        """,
    )


@pytest.fixture(scope="module")
def lacking(tmp_path_factory) -> Path:
    """A program that its loader refuses."""
    folder = tmp_path_factory.mktemp("lacking")
    library = compiled(folder / "libgone.so", "int gone(void) { return 1; }", "-shared", "-fPIC")
    program = compiled(folder / "lacking", "int gone(void); int main(void) { return gone(); }", str(library))
    library.unlink()
    return program


def compiled(program: Path, source: str, *options: str) -> Path:
    words = ["gcc", "-g", "-O0", "-x", "c", "-", "-x", "none", *options, "-o", str(program), "-lpthread"]
    subprocess.run(words, input=source, text=True, check=True, timeout=600)
    return program


ENDED = {
    "signal": (["{ends}", "-11"], 139, "it ended by SIGSEGV; nothing stood against swapping the mutexes until then"),
    "kill": (["{ends}", "-9"], 137, "it ended by SIGKILL; "),
    "status": (["{ends}", "1"], 1, "it ended with exit status 1; nothing stood"),
    "signal behind a shell": (["sh", "-c", "{ends} -6; exit $?"], 134, "for a program that ended by SIGABRT; "),
    "time limit": (["timeout", "1", "{ends}", "124"], 124, "the time limit of `timeout` was over"),
    "no lock and a status": (["false"], 1, "it ended with exit status 1, and no lock function was called until then"),
    "loader": (["{lacking}"], 127, "'lacking' cannot start, since a library is not found: {gone}; this run shows"),
    "loader behind a shell": (["sh", "-c", "{lacking}; exit 4"], 4, "'lacking' cannot start, since"),
    "loader behind env": (["env", "A=1", "{lacking}"], 127, "'lacking' cannot start, since"),
    "loader behind timeout": (["timeout", "600", "{lacking}"], 127, "'lacking' cannot start, since"),
    "no file behind a shell": (["sh", "-c", "/no/such/file"], 127, "for a program that was not found or that its "),
}


@pytest.mark.parametrize("how", ENDED)
def test_nothing_follows_from_a_run_that_did_not_end_well(audit, ends, lacking, how):
    command, status, says = ENDED[how]
    words = [word.format(ends=ends, lacking=lacking) for word in command]
    report = audit(*words, stdout="", status=status, options=("--fail-on-findings",))
    assert report["verdict"].startswith("not known: ") and not report["safe"]
    assert says.format(gone=lacking.parent / "libgone.so") in report["verdict"]
    assert "safe" not in {one["level"] for one in report["verdicts"].values()}, report["verdicts"]


IN_PYTHON = """
import os, subprocess
subprocess.run(["{ends}", "-11"])
for signal, wait in enumerate((
    lambda child: os.wait(),
    lambda child: os.waitpid(child, 0),
    lambda child: os.wait3(0),
    lambda child: os.wait4(child, 0),
    lambda child: os.waitid(os.P_PID, child, os.WEXITED),
)):
    wait(os.spawnv(os.P_NOWAIT, "{ends}", ["ends", str((-4, -5, -6, -7, -8)[signal])]))
"""
PASSED_OVER = {
    "a shell": (["sh", "-c", "{ends} -11; {ends} -6 & wait; true"], [6, 11]),
    "bash": (["bash", "-c", "{ends} -11; true"], [11]),
    "make": (["make", "-s", "-f", "{makefile}"], [11]),
    "all functions that wait": ([sys.executable, "-c", IN_PYTHON], [4, 5, 6, 7, 8, 11]),
}


@pytest.fixture
def makefile(ends, tmp_path) -> Path:
    file = tmp_path / "Makefile"
    file.write_text(f"all:\n\t-@{ends} -11\n")
    return file


@pytest.mark.parametrize("how", PASSED_OVER)
def test_a_crash_that_the_program_passes_over_is_told(audit, ends, makefile, how):
    command, signals = PASSED_OVER[how]
    words = [word.format(ends=ends, makefile=makefile) for word in command]
    report = audit(*words, stdout="", status=3, options=("--fail-on-findings",))
    assert re.match(r"not known: ends \(\d+\) ended by SIG.*; nothing stood against swapping", report["verdict"])
    assert sorted(child["signal"] for child in report["signalled"]) == signals


def test_a_crash_is_told_where_the_call_does_not_tell_whose(audit, ends):
    run = f"import os; os.system('exec {ends} -6')"
    for words, parent in (([sys.executable, "-c", run], "python"), ([ends, "popen", f"exec {ends} -6"], "ends")):
        verdict = audit(*words, stdout="")["verdict"]
        assert re.match(rf"not known: a child of {parent}\S* \(\d+\), ended by SIGABRT; ", verdict)


# Right programs, whose children end in other ways.
ENDED_WELL = {
    "statuses": (["sh", "-c", "{ends} 1; {ends} 139; {ends} 'at once'; {ends} 'by the kernel'; true"], ""),
    "a server": (["sh", "-c", "sleep 1000 & kill $!; wait; {ends} 0"], "SIGTERM"),
    "a reader that had enough": (["bash", "-c", "yes | head -n 1 > {nothing}; {ends} 0"], "SIGPIPE"),
    "no change": (
        [
            sys.executable,
            "-c",
            "import os; os.spawnv(os.P_NOWAIT, '{ends}', ['ends', '0']); "
            "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG)",
        ],
        "",
    ),
}


@pytest.mark.parametrize("how", ENDED_WELL)
def test_children_that_end_otherwise_are_no_crash(audit, ends, how):
    command, signal = ENDED_WELL[how]
    words = [word.format(ends=ends, nothing=os.devnull) for word in command]
    report = audit(*words, stdout="", options=("--fail-on-findings",))
    assert report["verdict"].startswith("safe: ")
    said = f"Child processes ended by signals that programs send to each other: 1 by {signal}."
    assert [note for note in report["notes"] if "signals" in note] == ([said] if signal else [])


def test_a_gate_is_red_where_nothing_ran(audit, ends, lacking, tmp_path):
    gate = ("--fail-on-findings",)
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"all:\n\t-@{lacking}\n")
    for words in (["sh", "-c", f"{lacking}; true"], ["make", "-s", "-f", makefile]):
        report = audit(*words, stdout="", status=3, options=gate)
        assert report["verdict"].startswith("not known: 'lacking' cannot start"), words
    report = audit("sh", "-c", "exit 0", stdout="", status=3, options=gate)
    assert report["verdict"].startswith("not known: only sh was looked at")
    # A program without locks ran, and there is nothing to look at; nor is there a claim.
    report = audit("true", stdout="", options=gate)
    assert report["verdict"].startswith("nothing to swap: ")
    for words in ([ends, "0"], ["sh", "-c", f"{ends} 0"], ["timeout", "600", ends, "0"]):
        report = audit(*words, stdout="", options=gate)
        assert report["verdict"].startswith("safe: nothing in this run stands against swapping the mutexes"), words


def test_findings_come_before_the_end(audit):
    report = audit(CASES, "self_deadlock", status=128 + 9)
    assert report["verdict"].startswith("look at: write by a thread that reads (1 time); it ended by SIGKILL")
    (inside,) = report["inside"]
    assert inside["at"].startswith("write_lock, cases.c:")


def test_threads_in_lock_calls_are_named_if_the_run_did_not_end_well(audit, ends):
    report = audit(ends, "-9", "waits", stdout="", status=137)
    assert report["verdict"].endswith("until then; 1 thread was in a lock call then") and len(report["inside"]) == 1
    text = lockswap("audit", "--", ends, "-9", "waits").stderr
    assert "1 thread was in a lock call when the run ended" in text
    assert re.search(r"thread \d+ of ends \(\d+\) asks for a mutex, at worker,", text), text
    assert audit(ends, "0", "waits", stdout="")["inside"] == []


def test_findings_for_a_ci_system(audit, tmp_path):
    file = tmp_path / "audit.xml"
    audit(CASES, "unheld", options=("--junit", file))
    (suite,) = ElementTree.parse(file).getroot()
    outcomes = {case.get("name"): [one.tag for one in case] for case in suite}
    assert outcomes["the run"] == [] and suite.get("failures") == "1" and ["failure"] in outcomes.values()
    audit(CASES, "recursive", options=("--junit", file))
    assert ElementTree.parse(file).getroot().get("failures") == "0"
    audit("sh", "-c", f"{CASES} recursive; kill -6 $$", status=134, options=("--junit", file))
    assert ElementTree.parse(file).getroot().get("errors") == "1"
    done = lockswap("audit", "--junit", tmp_path / "nowhere" / "audit.xml", "--", CASES, "unheld")
    assert done.returncode == 2 and "make it first" in done.stderr


def test_the_report_for_people(tmp_path):
    done = lockswap("audit", "--", CASES, "foreign_write")
    assert (done.returncode, done.stdout) == (0, "done\n")
    lines = done.stderr.splitlines()
    assert lines[-1] == "look at: write hold released by another thread (1 time)"
    assert "Let the writer release." in done.stderr and "cases.c:" in done.stderr
    assert not any(line.endswith(" ") for line in lines)
    out = tmp_path / "audit.txt"
    done = lockswap("audit", "--out", out, "--", CASES, "clean")
    assert done.stderr == f"lockswap audit: {SAFE}; the report is in {out}\n"
    assert out.read_text().splitlines()[-1] == SAFE


def test_what_a_preload_does_not_reach_is_told_before_the_run(audit):
    report = audit(PROGRAMS / "audit_defines_rwlock")
    assert "defines pthread_rwlock_rdlock itself" in report["hindrances"][0]
    assert "a program that a preload can't reach" in report["verdict"]
    static = BUILD / "tests/programs/known_counts_static"
    if static.exists():
        report = audit(static)
        assert "statically linked" in report["hindrances"][0]
        assert report["verdict"].startswith("look at: no process of it could be looked at")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--", "no-such-program"], "not found in PATH"),
        (["--out", "/no/such/folder/x", "--", "true"], "--out"),
        (["--", "/etc"], "is a folder"),
        (["--preload", "no-such-library", "--", "true"], "is installed"),
    ],
)
def test_bad_input_is_one_line(words, says):
    done = lockswap("audit", *words)
    assert done.returncode == 2 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and says in done.stderr


def installed(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


def stats(tmp_path: Path, command: list[str]) -> dict:
    """The same program by LOCKSWAP_STATS."""
    file = tmp_path / "stats"
    done = lockswap("run", "--rwlock", "pthread", "--stats", file, "--", *command)
    assert done.returncode == 0, done.stderr
    (written,) = tmp_path.glob("stats.*")
    return json.loads(written.read_text())


# One thread: what it calls does not depend on the order of threads.
REAL = {
    "known_counts": [BUILD / "tests/programs/known_counts"],
    "kccachetest": ["kccachetest", "order", "-th", "1", "2000"],
    "kcprototest": ["kcprototest", "order", "-th", "1", "2000"],
}


@pytest.mark.parametrize("name", REAL)
def test_counts_agree_with_those_of_the_library(audit, tmp_path, name):
    command = [installed(str(REAL[name][0])), *REAL[name][1:]]
    counted = stats(tmp_path, command)
    report = audit(*command, stdout=None)
    counts, totals = report["counts"], counted["totals"]
    pairs = {"reads": "reads", "writes": "writes", "rw_busy": "failed_tries", "rw_timeouts": "timeouts"}
    assert {ours: counts[ours] for ours in pairs} == {ours: totals[theirs] for ours, theirs in pairs.items()}
    assert counts["reads"] + counts["writes"] > 1000
    assert report["safe"], report["verdict"]


@pytest.mark.parametrize("allocator", ["jemalloc", "tcmalloc"])
def test_inside_a_malloc_that_locks(audit, allocator):
    report = audit(CASES, "threads", options=("--preload", allocator))
    assert (report["counts"]["reads"], report["counts"]["writes"]) == (200 * 900, 200 * 100)
    assert found(report) == {}
    if allocator == "jemalloc":
        assert report["counts"]["mutex_acquired"] > 0, "its mutexes come through the audit"


def test_real_programs_with_threads(audit, tmp_path):
    report = audit(installed("kccachetest"), "wicked", "-th", "4", "2000", stdout=None)
    assert report["safe"], report["verdict"]
    assert report["counts"]["reads"] + report["counts"]["writes"] > 1000
    words = ("--benchmarks=fillseq,readrandom", "--num=2000", "--threads=4", f"--db={tmp_path}/db")
    report = audit(installed("db_bench"), *words, stdout=None)
    assert report["safe"], report["verdict"]
    assert report["counts"]["writes"] > 0 and report["counts"]["mutex_acquired"] > 0


def test_output_and_input_are_the_programs(audit):
    before = subprocess.run(["sort", "-r"], input="a\nb\n", capture_output=True, text=True)
    done = lockswap("audit", "--", "sort", "-r", input="a\nb\n")
    assert (done.stdout, done.returncode) == (before.stdout, 0)
    assert done.stderr.startswith("lockswap audit: sort -r\n")


def test_a_program_in_python_with_threads(audit):
    work = "import hashlib, threading\nt=[threading.Thread(target=hashlib.new, args=('sha256',)) for _ in range(20)]\n"
    work += "[x.start() for x in t]; [x.join() for x in t]; print(hashlib.new('sha256', b'x').hexdigest()[:8])"
    report = audit("/usr/bin/python3", "-c", work, stdout="2d711642\n")
    assert report["safe"], report["verdict"]
