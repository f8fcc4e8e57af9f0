#!/usr/bin/env python3
"""How the library finds out where glibc keeps what in its objects, on C libraries that differ (other_glibc.c).

    layouts.py LIBRARY REGISTRY FOLDER

Exit status 1 if a test fails.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "life"))
from under import need, run_tests, under_test

under = under_test("LIBRARY REGISTRY FOLDER")

OTHER = under.folder / "libpthread.so.other"
AUDIT = Path(under.library).with_name("liblockswap-audit.so")
FUZZ = Path(under.library).with_name("liblockswap-fuzz.so")
BOTH = {"LOCKSWAP_RWLOCK": under.plain, "LOCKSWAP_MUTEX": under.plain}
# The difference, by the kind of object, and a word of the reason that must be given.
MUTEXES, CONDS, RWLOCKS = "mutexes", "conds", "rwlocks"
UNKNOWN = {
    CONDS: {
        "cond-unknown": "byte 44",
        "cond-writes": "byte 5",
        "cond-third-flag": "other flags",
        "cond-wait": "change the flags",
    },
    MUTEXES: {
        "mutex-kind": "type in byte 16",
        "mutex-flags": "flags in byte 16",
        "mutex-writes-before": "byte 13",
        "mutex-writes-behind": "byte 30",
        "mutex-owner": "owner in byte 8",
        "mutex-users": "users in byte 12",
        "mutex-lock-writes": "byte 37",
    },
    RWLOCKS: {
        "rwlock-kind": "kind in byte 48",
        "rwlock-shared": '"process-shared" in byte 28',
        "rwlock-writes": "byte 34",
        "rwlock-read-writes": "byte 40",
        "rwlock-writer": "writer in byte 24",
    },
}
# What stays glibc's: mutexes and condition variables go together.
KEPT = {CONDS: {MUTEXES, CONDS}, MUTEXES: {MUTEXES, CONDS}, RWLOCKS: {RWLOCKS}}
DIFFERENCES = [(kind, name, why) for kind, some in UNKNOWN.items() for name, why in some.items()]
ONE_OF_EACH = [(kind, *next(iter(some.items()))) for kind, some in UNKNOWN.items()]


def uses(
    difference: str | None = None,
    library: Path | str = under.library,
    private: bool = False,
    wrong: bool = False,
    **variables: object,
):
    """The program over a C library that differs like that."""
    if difference is not None:
        variables["OTHER_GLIBC"] = difference
    arguments = ["private"] if private else ["wrong"] if wrong else []
    return under.run("uses", *arguments, lock=None, preload=f"{library} {OTHER}", **variables)


def byte_of_flags(**how: object) -> int:
    said = uses(LOCKSWAP_COND="own", LOCKSWAP_VERBOSE=1, **how).stderr
    found = re.search(r"pthread_cond_t flags at byte (\d+)", said)
    need(found is not None, f"it doesn't say where the flags are: {said!r}")
    return int(found[1])


def is_right(ran: subprocess.CompletedProcess[str], what: object) -> None:
    need(
        ran.returncode == 0 and ran.stdout == "right\n", f"{what}: status {ran.returncode}, {ran.stdout + ran.stderr!r}"
    )


def ran_and_counted(difference: str | None, **variables: object) -> tuple[str, dict]:
    """What a right run said on stderr, and its statistics."""
    with tempfile.TemporaryDirectory() as place:
        ran = uses(difference, private=True, LOCKSWAP_STATS=f"{place}/stats", **variables)
        is_right(ran, difference)
        (file,) = Path(place).iterdir()
        return ran.stderr, json.loads(file.read_text())


def kept(stats: dict) -> dict[str, str]:
    return {kind: why for kind, why in stats["kept_by_glibc"].items() if why is not None}


def test_this_glibc_is_known() -> None:
    for chosen in ({}, BOTH, {"LOCKSWAP_MUTEX": "auto"}, {"LOCKSWAP_COND": "own"}, {"LOCKSWAP_RWLOCK": "pthread-wp"}):
        ran = uses(**chosen)
        is_right(ran, chosen)
        # That locks are replaced behind the library is said; that a layout is unknown isn't.
        need("glibc's" not in ran.stderr, f"{chosen}: {ran.stderr!r}")
    need(kept(ran_and_counted(None, **BOTH)[1]) == {}, "something is kept")


def test_the_other_known_layout_of_condition_variables() -> None:
    here, there = byte_of_flags(), byte_of_flags(difference="cond-other-known", private=True)
    need({here, there} == {28, 36}, f"flags at {here}, and at {there} where they were moved")
    for chosen in ({"LOCKSWAP_MUTEX": under.plain}, {"LOCKSWAP_COND": "own"}):
        is_right(uses("cond-other-known", private=True, **chosen), chosen)


def test_a_library_that_assumes_the_wrong_byte_is_found() -> None:
    here = byte_of_flags()
    for byte in (28, 36):
        library = under.folder / f"libassumes_{byte}.so"
        ran = uses(library=library, wrong=byte != here, LOCKSWAP_MUTEX=under.plain)
        if byte == here:
            is_right(ran, f"assumes {byte}")
        else:
            wrong = [line for line in ran.stdout.splitlines() if line.startswith("wrong: ")]
            need(len(wrong) >= 3, f"assumes {byte}: it went unnoticed: {ran.stdout!r}")


def test_no_version_string_plays_a_part() -> None:
    here = byte_of_flags()
    for version in ("version-2.2", "version-9.99"):
        need(byte_of_flags(difference=version) == here, version)
        is_right(uses(version, **BOTH), version)


def test_an_unknown_layout_stays_glibcs_and_says_so() -> None:
    for kind, difference, why in DIFFERENCES:
        said, stats = ran_and_counted(difference, LOCKSWAP_VERBOSE=1, **BOTH)
        lines = [line for line in said.splitlines() if "stay glibc's" in line]
        need(len(lines) == 2 and all(why in line for line in lines), f"{difference}: said {said!r}")
        warned, announced = lines
        need("has no effect" in warned and " rwlock " in announced, f"{difference}: said {said!r}")
        says = kept(stats)
        need(says.keys() == KEPT[kind] and all(why in text for text in says.values()), f"{difference}: {says}")
        # The other kinds are swapped all the same.
        rwlock, mutex = stats["rwlock"], stats["mutexes"]["mutex"]
        want = ("pthread", under.plain) if kind is RWLOCKS else (under.plain, "pthread")
        need((rwlock, mutex) == want, f"{difference}: ran {rwlock} and {mutex}")


def test_the_line_comes_without_being_asked_for() -> None:
    for _, difference, why in ONE_OF_EACH:
        said = uses(difference, private=True, **BOTH).stderr
        need(said.count("stay glibc's") == 1 and why in said, f"{difference}: said {said!r}")


def test_condition_variables_alone_too() -> None:
    for kind, difference, why in DIFFERENCES:
        ran = uses(difference, private=True, LOCKSWAP_COND="own")
        is_right(ran, difference)
        need((why in ran.stderr) == (kind is not RWLOCKS), f"{difference}: said {ran.stderr!r}")


def test_rules_of_a_policy_of_that_kind_have_no_effect() -> None:
    for kind, difference, why in DIFFERENCES:
        said, stats = ran_and_counted(difference, LOCKSWAP_POLICY=f"rwlock={under.plain} mutex={under.plain}")
        need("LOCKSWAP_POLICY" in said and why in said, f"{difference}: said {said!r}")
        need(kept(stats).keys() == KEPT[kind], difference)


def test_a_policy_writes_into_no_mutex_of_an_unknown_layout() -> None:
    """Also where all its rules leave mutexes to glibc: it would note that in each of them."""
    for kind, difference, why in DIFFERENCES:
        said, stats = ran_and_counted(difference, LOCKSWAP_POLICY=f"rwlock={under.plain} mutex=pthread")
        need((why in said) == (kind is not CONDS), f"{difference}: said {said!r}")
        need((MUTEXES in kept(stats)) == (kind is MUTEXES), f"{difference}: {kept(stats)}")


def test_no_line_where_warnings_are_forbidden() -> None:
    for _, difference, _ in ONE_OF_EACH:
        ran = uses(difference, private=True, LOCKSWAP_VERBOSE=0, **BOTH)
        is_right(ran, difference)
        need(ran.stderr == "", f"{difference}: said {ran.stderr!r}")


def test_an_error_where_it_must_not_fall_back() -> None:
    for kind, difference, why in DIFFERENCES:
        ran = uses(difference, private=True, LOCKSWAP_STRICT=1, **BOTH)
        need(ran.returncode == 2 and ran.stdout == "", f"{difference}: status {ran.returncode}, {ran.stdout!r}")
        variable = "LOCKSWAP_RWLOCK" if kind is RWLOCKS else "LOCKSWAP_MUTEX"
        said = ran.stderr.splitlines()
        need(len(said) == 1 and variable in said[0] and why in said[0], f"{difference}: said {ran.stderr!r}")


def test_what_is_not_swapped_is_not_looked_at() -> None:
    for _, difference, _ in ONE_OF_EACH:
        ran = uses(difference, private=True)
        is_right(ran, difference)
        need(ran.stderr == "", f"{difference}: said {ran.stderr!r}")


def test_audit_records_nothing_of_unknown_objects() -> None:
    for _, difference, why in DIFFERENCES:
        with tempfile.TemporaryDirectory() as place:
            ran = uses(difference, AUDIT, private=True, LOCKSWAP_AUDIT=f"{place}/record")
        is_right(ran, difference)
        need("not recorded" in ran.stderr and why in ran.stderr, f"{difference}: said {ran.stderr!r}")


def test_fuzz_says_that_it_chooses_no_waiters() -> None:
    for kind, difference, why in ONE_OF_EACH:
        ran = uses(difference, FUZZ, private=True, LOCKSWAP_FUZZ="1,percent=1")
        is_right(ran, difference)
        need((why in ran.stderr) == (kind is CONDS), f"{difference}: said {ran.stderr!r}")


sys.exit(run_tests(globals()))
