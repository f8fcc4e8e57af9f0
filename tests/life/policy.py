#!/usr/bin/env python3
"""LOCKSWAP_POLICY: which locks rules catch, that the caught ones are locks, and what is said of wrong rules.

    policy.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import json
import platform
import sys
import tempfile
from pathlib import Path

from under import emulated, need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")

OURS = under.biased
OTHER = under.plain
MUTEX = under.mutex.removeprefix("mutex:")
GLIBCS = under.passed_through[0]
LOADED = under.folder / "libpoliced_loaded.so"
LOCKS = ("made", "ready", "named", "linked", "linked_ready", "loaded")
MUTEXES = ("ready_mutex", "named_mutex", "linked_mutex")
NONE = dict.fromkeys((*LOCKS, *MUTEXES), -1)


def runners(policy: str, **variables: object) -> dict[str, int]:
    """By the objects' bytes; -1: there is no decision."""
    said = under.run_well("policed", "who", LOADED, LOCKSWAP_POLICY=policy, **variables)
    need(said.stderr == "", f"{policy}: said {said.stderr!r}")
    lines = said.stdout.splitlines()
    need(lines[-1] == "done", f"{policy}: {said.stdout!r}")
    return {name: int(number) for name, number in map(str.split, lines[:-1])}


def catches(policy: str, *names: str, kinds: tuple[str, ...] = LOCKS) -> None:
    """These objects and no other of the kinds are the first runner's; the others of the kinds are glibc's."""
    want = NONE | dict.fromkeys(kinds, 0) | dict.fromkeys(names, 1)
    got = runners(policy)
    need(got == want, f"{policy}: {got}, not {want}")


def test_a_rule_without_conditions_catches_its_kind() -> None:
    catches(f"rwlock={OURS}", *LOCKS)
    catches(f"mutex={MUTEX}", *MUTEXES, kinds=MUTEXES)
    catches(f"rwlock={OURS} mutex={MUTEX}", *LOCKS, *MUTEXES, kinds=(*LOCKS, *MUTEXES))
    catches(f"rwlock={GLIBCS}")


def test_a_rule_by_module() -> None:
    catches(f"module=policed rwlock={OURS}", "made", "ready", "named")
    catches(f"module=libpoliced_file.so rwlock={OURS}", "linked", "linked_ready")
    catches(f"module=libpoliced_loaded.so rwlock={OURS}", "loaded")
    catches(f"module=libpoliced_*.so rwlock={OURS}", "linked", "linked_ready", "loaded")
    catches(f"module=libpoliced_loaded.so* rwlock={OURS}", "loaded")
    catches(f"module=policed\trwlock={OURS}", "made", "ready", "named")
    catches(f"module={LOADED} rwlock={OURS}", "loaded")
    catches(f"module=policed_loaded.so rwlock={OURS}")
    catches(f"module=libpoliced_file.so mutex={MUTEX}", "linked_mutex", kinds=MUTEXES)


def test_a_rule_by_function() -> None:
    catches(f"site=make_here rwlock={OURS}", "made")
    catches(f"site=file_make rwlock={OURS}", "linked", "loaded")
    catches(f"site=file_make module=libpoliced_file.so rwlock={OURS}", "linked")
    catches(f"site=lock_here mutex={MUTEX}", "ready_mutex", "named_mutex", kinds=MUTEXES)


def test_where_a_function_begins_and_ends() -> None:
    def runners_by(policy: str) -> tuple[int, int]:
        split, last, done = under.run_well("policed", "parts", LOCKSWAP_POLICY=policy).stdout.splitlines()
        need(done == "done", f"{policy}: {done}")
        return int(split.removeprefix("split ")), int(last.removeprefix("last "))

    need(runners_by(f"site=whole rwlock={OURS}") == (1, 0), "a part that was split off")
    need(runners_by(f"site=whol rwlock={OURS}") == (0, 0), "another function's name")
    if platform.machine() == "x86_64" and not emulated.EMULATOR:
        need(runners_by(f"site=call_last rwlock={OURS}") == (0, 1), "a call at the end of its function")
        need(runners_by(f"site=comes_next rwlock={OURS}") == (0, 0), "the function behind it")


def test_a_rule_by_address() -> None:
    found = under.stats("policed", "who", LOADED, LOCKSWAP_POLICY=f"site=make_here rwlock={OURS}")["policy"]
    (place,) = (place for place in found["places"] if place["rule"] == 0)
    need(Path(place["file"]).name == "policed" and place["objects"] == 1, f"{place}")
    catches(f"module=policed site={place['address']:#x} rwlock={OURS}", "made")
    catches(f"module=policed site={place['address'] + 1:#x} rwlock={OURS}")


def test_a_rule_by_symbol() -> None:
    catches(f"symbol=named rwlock={OURS} mutex={MUTEX}", "named", kinds=(*LOCKS, *MUTEXES))
    catches(f"symbol=named_mutex mutex={MUTEX}", "named_mutex", kinds=MUTEXES)


def test_the_first_rule_that_is_met_decides() -> None:
    got = runners(f"symbol=named rwlock={GLIBCS}\n module=policed rwlock={OTHER} # these\n\nrwlock={OURS}")
    want = NONE | dict.fromkeys(LOCKS, 2) | {"named": 0, "made": 1, "ready": 1}
    need(got == want, f"{got}, not {want}")


def test_each_lock_can_be_a_rules() -> None:
    for lock in under.locks:
        got = runners(f"module=policed rwlock={lock}")
        passed = lock == GLIBCS
        need(got["linked"] == 0 and got["made"] == (0 if passed else 1), f"{lock}: {got}")
    for mutex in under.mutexes:
        name = mutex.removeprefix("mutex:")
        got = runners(f"site=lock_here mutex={name}")
        need(got["linked_mutex"] == 0 and got["named_mutex"] == (0 if name == GLIBCS else 1), f"{name}: {got}")


def test_a_file_of_rules_and_what_they_caught() -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "rules"
        rules = f"module=libpoliced_file.so rwlock={OURS}\nmodule=policed mutex={MUTEX}\n"
        file.write_text(f"version=1 # two rules\n{rules}")
        found = under.stats("policed", "who", LOADED, LOCKSWAP_POLICY=file)
    policy = found["policy"]
    first, second = policy["rules"]
    need((first["line"], first["rwlocks"], first["mutexes"]) == (2, 2, 0), f"{first}")
    need((second["line"], second["rwlocks"], second["mutexes"]) == (3, 0, 2), f"{second}")
    need(policy["rest"]["rwlocks"] == 4 and policy["rest"]["mutexes"] >= 1, f"{policy['rest']}")
    need(first["rule"] == f"module=libpoliced_file.so rwlock={OURS}", f"{first}")
    need(found["rwlock"] == "policy" and found["mutexes"]["mutex"] == "policy", f"{found}")
    need(found["totals"]["reads"] >= 6 and found["mutexes"]["totals"]["acquisitions"] >= 4, f"{found}")


def test_first_calls_of_two_threads_agree() -> None:
    for one, other in ((OURS, GLIBCS), (OURS, OTHER)):
        rules = f"site=write_here rwlock={one}\nsite=write_there rwlock={other}\nsite=lock_here mutex={MUTEX}"
        under.run_well("policed", "race", LOCKSWAP_POLICY=rules)


def test_kinds_of_locks() -> None:
    under.run_well("policed", "kinds", LOCKSWAP_POLICY=f"rwlock={OURS} mutex={MUTEX}")
    # glibc's by a rule: a process-shared lock has no room for a decision.
    under.run_well("policed", "kinds", LOCKSWAP_POLICY=f"symbol=nothing rwlock={OURS}\nmutex={MUTEX}")


def test_condition_variables_go_with_both_kinds_of_mutexes() -> None:
    under.run_well("policed", "conds", LOCKSWAP_POLICY=f"site=lock_here mutex={MUTEX}")
    # Also where that is the second mutex which rules name.
    first = next(m for m in (name.removeprefix("mutex:") for name in under.mutexes) if m not in (MUTEX, GLIBCS))
    under.run_well("policed", "conds", LOCKSWAP_POLICY=f"site=nowhere mutex={first}\nsite=lock_here mutex={MUTEX}")


def test_a_child_goes_on() -> None:
    for lock in (OURS, OTHER):
        under.run_well("policed", "fork", LOCKSWAP_POLICY=f"site=make_here rwlock={lock}")


def test_a_child_counts_what_it_caught_itself() -> None:
    with tempfile.TemporaryDirectory() as place:
        under.run_well("policed", "child", LOCKSWAP_POLICY=f"rwlock={OURS}", LOCKSWAP_STATS=f"{place}/stats")
        found = [json.loads(file.read_text())["policy"] for file in Path(place).iterdir()]
    caught = sorted(policy["rules"][0]["rwlocks"] for policy in found)
    need(caught == [1, 2], f"{caught} objects were caught")
    objects = sorted(sum(one["objects"] for one in policy["places"] if one["rule"] == 0) for policy in found)
    need(objects == [1, 2], f"{objects} objects at the places")


def test_the_end_of_a_lock() -> None:
    under.run_well("policed", "again", LOCKSWAP_POLICY=f"site=make_here rwlock={OURS}")


def test_wrong_rules_stop_the_program_before_main() -> None:
    last = f"rwlock={OURS}"
    wrong = {
        f"modul=x {last}": ("line 1", "'modul=x'", "module=NAME"),
        f"{last}\nmodule=a word {last}": ("line 2", "'word'"),
        f"{last}\n\nmodule= {last}": ("line 3", "'module='"),
        "module=a": ("line 1", "rwlock=LOCK"),
        "rwlock=nonsense": ("line 1", "'rwlock=nonsense'", OURS),
        "mutex=nonsense": ("line 1", "'mutex=nonsense'", MUTEX),
        f"module=a module=b {last}": ("line 1", "'module=b'", "twice"),
        f"{last} {last}": ("line 1", "second"),
        f"module=a site=0xwhat {last}": ("line 1", "'site=0xwhat'"),
        f"site=0x1234 {last}": ("line 1", "module=NAME"),
        "# nothing": ("no rule",),
        "version=1": ("no rule",),
        f"version=2 {last}": ("line 1", "'version=2'", "version=1"),
        f"{last}\nversion=1 {last}": ("line 2", "'version=1'", "first word"),
        f"{last} version=1": ("line 1", "'version=1'", "first word"),
        f"version=1\nversion=1 {last}": ("line 2", "'version=1'", "first word"),
        "/nonexistent/rules": ("/nonexistent/rules", "no such file"),
        "/": ("folder",),
        "\n".join([last] * 65): ("line 65", "64"),
    }
    for rules, words in wrong.items():
        said = under.run("policed", "again", LOCKSWAP_POLICY=rules)
        need(said.returncode == 2 and said.stdout == "", f"{rules[:60]!r}: {said.returncode}, {said.stdout!r}")
        need(said.stderr.count("\n") == 1, f"{rules[:60]!r}: {said.stderr!r}")
        for word in ("LOCKSWAP_POLICY", *words):
            need(word in said.stderr, f"{rules[:60]!r}: no {word!r} in {said.stderr!r}")
    for other in ({"LOCKSWAP_RWLOCK": OURS}, {"LOCKSWAP_MUTEX": MUTEX}, {"LOCKSWAP_COND": "pthread"}):
        said = under.run("policed", "again", LOCKSWAP_POLICY=f"mutex={MUTEX}", **other)
        need(said.returncode == 2 and "LOCKSWAP_POLICY" in said.stderr, f"{other}: {said.stderr!r}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
