#!/usr/bin/env python3
"""LOCKSWAP_MUTEX: names, output, and statistics that count exactly.

    mutexes.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails. What holds for every variable is in tests/programs/preload.py.
"""

import sys

from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")


def test_each_mutex_is_quiet() -> None:
    for mutex in (None, "", *under.mutexes):
        for wait in ("park", "yield", "spin"):
            said = under.run_well("known_mutexes", lock=mutex, LOCKSWAP_WAIT=wait)
            need(said.stdout == "done\n" and said.stderr == "", f"{mutex}, {wait}: {said.stdout!r}, {said.stderr!r}")


def test_a_mutex_goes_with_each_rwlock() -> None:
    for lock in under.locks:
        said = under.run_well("known_mutexes", lock=under.mutex, LOCKSWAP_RWLOCK=lock, LOCKSWAP_VERBOSE=1)
        took = "(auto)" if lock == "auto" else f"rwlock {lock}"
        need(took in said.stderr and under.mutex.replace(":", " ") in said.stderr, f"{lock}: {said.stderr!r}")


def test_names_are_case_blind_and_have_aliases() -> None:
    names = {mutex.upper(): mutex for mutex in under.aliases}
    names |= {spelling: mutex for mutex, others in under.aliases.items() for a in others for spelling in (a, a.lower())}
    for given, name in names.items():
        said = under.run_well("known_mutexes", lock=f"mutex:{given}", LOCKSWAP_VERBOSE=1)
        need(said.stderr.count("\n") == 1 and f"mutex {name}," in said.stderr, f"{given}: {said.stderr!r}")


def test_auto_says_what_it_took() -> None:
    for topology in ("1x4x1", "2x4x1"):
        mutex = under.chosen_mutex(topology)
        how = {"lock": "mutex:auto", "LOCKSWAP_TOPOLOGY": topology}
        said = under.run_well("known_mutexes", **how, LOCKSWAP_VERBOSE=1).stderr
        need(f"mutex {mutex} (auto)" in said and ", mutex auto as " in said, f"{topology}: {said!r}")
        found = under.stats("known_mutexes", **how)["mutexes"]
        need(found["mutex"] == mutex and found["auto"] and found["auto_reason"], f"{topology}: {found}")


def test_what_is_no_mutex_stops_the_program_before_main() -> None:
    for wrong in ("bravo-", f"bravo-{under.mutex[6:]}", f"{under.mutex[6:]} ", "nonsense", "none"):
        said = under.run("known_mutexes", lock=f"mutex:{wrong}")
        need(said.returncode == 2 and said.stdout == "", f"{wrong}: status {said.returncode}, {said.stdout!r}")
        need(said.stderr.count("\n") == 1 and f"LOCKSWAP_MUTEX={wrong}" in said.stderr, f"{wrong}: {said.stderr!r}")
        for mutex in under.mutexes:
            need(mutex.removeprefix("mutex:") in said.stderr, f"{wrong}: {mutex} is not in {said.stderr!r}")


def test_condition_variables_alone() -> None:
    for cond in ("own", "pthread"):
        said = under.run_well("known_mutexes", lock="pthread", LOCKSWAP_COND=cond, LOCKSWAP_VERBOSE=1).stderr
        need(f", cond {cond}," in said and "mutex" not in said, f"{cond}: {said!r}")
        found = under.stats("known_mutexes", lock="pthread", LOCKSWAP_COND=cond)
        need(found["mutexes"] is None, f"{cond}: mutexes are counted: {found['mutexes']}")
        want = {"waits": 4, "wait_timeouts": 4, "signals": 5, "broadcasts": 1}
        need(found["conds"] == {"cond": cond, "totals": want}, f"{cond}: {found['conds']}")


def test_glibcs_condition_variables_go_with_no_mutex_of_ours() -> None:
    for mutex in under.mutexes:
        said = under.run("known_mutexes", lock=mutex, LOCKSWAP_COND="pthread")
        if mutex.removeprefix("mutex:") in under.passed_through:
            need(said.returncode == 0, f"{mutex}: {said.stderr!r}")
            continue
        need(said.returncode == 2 and said.stdout == "", f"{mutex}: status {said.returncode}, {said.stdout!r}")
        need(said.stderr.count("\n") == 1 and "LOCKSWAP_COND=pthread" in said.stderr, f"{mutex}: {said.stderr!r}")


def test_statistics_count_exactly() -> None:
    for mutex in under.mutexes:
        passed_through = mutex.removeprefix("mutex:") in under.passed_through
        found = under.stats("known_mutexes", lock=mutex)["mutexes"]
        # These go by time, where a lock has any.
        hand_offs = found["totals"].pop("hand_offs")
        need(hand_offs == 0 or not passed_through, f"{mutex}: {hand_offs} hand-offs")
        naps = found["totals"].pop("naps")
        need(naps == 0 or not passed_through, f"{mutex}: {naps} naps")
        # Through glibc, waits take the mutex again unseen, and nobody asks whose a robust mutex is.
        want = {
            "acquisitions": 1007 + (7 if passed_through else 4), "failed_tries": 3, "timeouts": 2,
            "to_glibc": 0 if passed_through else 14, "waits": 4, "wait_timeouts": 4, "signals": 5, "broadcasts": 1,
        }  # fmt: skip
        need(found["totals"] == want, f"{mutex}: {found['totals']}, the program made {want}")
        need(found["mutex"] == mutex.removeprefix("mutex:"), f"{mutex} is called {found['mutex']}")
        need(found["locks"] == 3, f"{mutex}: {found['locks']} mutexes")
        # 1006 pairs; 1 + 3 + 2 on the busy one and its release; two for each wait; 1 init and 7 pairs of the robust one
        need(found["calls"] == 2 * 1006 + 7 + (0 if passed_through else 8) + 15, f"{mutex}: {found['calls']} calls")
        busiest = found["busiest"][0]["acquisitions"]
        need(busiest == 1001 + (0 if passed_through else 4), f"{mutex}: the busiest has {busiest}")


def test_statistics_in_words() -> None:
    said = under.run_well("known_mutexes", lock=under.mutex, LOCKSWAP_STATS=1).stderr
    for line in (
        f"{under.mutex.replace(':', ' ')}: 2042 calls seen, 3 mutexes\n",
        "  acquisitions 1011\n",
        "  to_glibc 14\n",
        "  signals 5\n",
    ):
        need(line in said, f"{line!r} is not in {said!r}")


def test_mutexes_are_left_alone_where_none_is_chosen() -> None:
    for lock in ("", under.plain):
        need(under.stats("known_mutexes", lock=lock)["mutexes"] is None, f"{lock}: mutexes were counted")


sys.exit(run_tests(globals()))
