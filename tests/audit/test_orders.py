"""`lockswap audit`: orders of locks that form a cycle, and condition variables with two mutexes, with their stacks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import command_server  # noqa: E402

PROGRAMS = ROOT / "build/tests/audit"
ORDERS = PROGRAMS / "audit_orders"
SOURCE = (ROOT / "tests/audit/orders.c").read_text().splitlines()


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=env, timeout=300)


@pytest.fixture
def audit(tmp_path):
    def run(*command: object) -> dict:
        out = tmp_path / "audit.json"
        done = lockswap("audit", "--json", "--out", out, "--", *command)
        assert (done.returncode, done.stdout) == (0, "done\n"), done
        return json.loads(out.read_text())

    return run


def found(report: dict) -> dict[str, int]:
    return {finding["name"]: finding["times"] for finding in report["findings"]}


def the_example(report: dict) -> dict:
    (finding,) = report["findings"]
    (example,) = finding["examples"]
    return example


def line_of(text: str, after: str = "") -> int:
    """The line of the source with that text, behind the one that begins with `after`."""
    begin = next(n for n, line in enumerate(SOURCE) if line.startswith(after))
    return 1 + next(n for n, line in enumerate(SOURCE) if n >= begin and text in line)


FOUND = {
    "opposite": {"opposite_orders": 1},
    "three": {"circle_of_orders": 1},
    "ring_of_twelve": {"circle_of_orders": 1},
    "mutex_and_rwlock": {"opposite_orders": 1},
    "three_with_reads": {"circle_with_reads": 1},
    "held_by_a_try": {"opposite_orders": 1},
    "same_thread": {"opposite_orders": 1},
    "before_and_after": {"opposite_orders": 1},
    "taken_again": {"opposite_orders": 1},
    "two_mutexes": {"cond_two_mutexes": 1},
    "mutex_after_mutex": {"cond_changes_mutex": 1},
    "foreign": {"foreign_mutex_release": 1},
    "released_by_another": {"foreign_mutex_release": 1},
    "forked": {"opposite_orders": 1},
}
# Behind a gate, tried, by a thread that is alone, with locks that are gone, or once more by the holder.
NOTHING = (
    *("ring_of_thirteen", "gates", "gate_of_two", "tries", "only_thread", "before_threads", "recursive", "list"),
    *("middle_gone", "one_mutex", "another_cond", "next_cond", "holds_many"),
)


@pytest.mark.parametrize("case", FOUND)
def test_what_can_hang_is_found_without_a_hang(audit, case):
    assert found(audit(ORDERS, case)) == FOUND[case]


@pytest.mark.parametrize("case", NOTHING)
def test_what_cannot_hang_is_not_reported(audit, case):
    report = audit(ORDERS, case)
    assert found(report) == {} and report["safe"]


def test_every_case_is_run():
    names = re.findall(r'^    \{"(\w+)", ', "\n".join(SOURCE), re.MULTILINE)
    assert sorted(names) == sorted([*FOUND, *NOTHING])


def test_both_threads_have_both_stacks(audit):
    circle = the_example(audit(ORDERS, "opposite"))["circle"]
    assert {part["thread"] for part in circle} == {part["thread"] for part in circle[:2]} and len(circle) == 2
    assert [part["lock"] for part in circle] == ["the mutex `second`", "the mutex `first`"]
    takes, then = line_of("lock(a);", "static void both"), line_of("lock(b);", "static void both")
    for part, function in zip(circle, ("withdraw", "deposit"), strict=True):
        call = line_of("both(", f"static void* {function}")
        assert part["held_at"] == [f"lock orders.c:{line_of('static void lock(')}", *_frames(takes, function, call)]
        assert part["asked_at"] == [f"lock orders.c:{line_of('static void lock(')}", *_frames(then, function, call)]


def _frames(line: int, function: str, call: int) -> list[str]:
    return [f"both orders.c:{line}", f"{function} orders.c:{call}"]


def test_the_kinds_of_locks_say_which_swap_it_concerns(audit):
    def look(case: str) -> set[str]:
        return {kind for kind, one in audit(ORDERS, case)["verdicts"].items() if one["level"] == "look"}

    assert look("opposite") == {"mutexes"}
    assert look("mutex_and_rwlock") == look("three_with_reads") == {"mutexes", "rwlocks"}
    assert look("two_mutexes") == {"condvars"}


def test_a_cycle_is_told_from_its_first_lock_back_to_it():
    says = " ".join(lockswap("audit", "--", ORDERS, "three").stderr.split())
    assert "locks taken in orders that form a cycle: 1 time" in says
    one = r"thread (\d+) takes {0} at both, orders.c:\d+ \(audit_orders\+0x[0-9a-f]+\), then {1} at both, orders.c:\d+"
    circle = re.search(r" \S+; ".join(one.format(*pair) for pair in ("AB", "BC", "CA")), says)
    assert circle and len(set(circle.groups())) == 3, says
    assert "A is the mutex `third`, B is the mutex `first`, C is the mutex `second`" in says
    assert re.search(r"thread \d+ takes B: both orders.c:\d+ < bring_back orders.c:\d+ thread", says), says


def test_how_a_rwlock_was_taken_is_told():
    says = " ".join(lockswap("audit", "--", ORDERS, "mutex_and_rwlock").stderr.split())
    assert re.search(r"thread \d+ reads A: look_up orders.c", says) and re.search(r"thread \d+ writes A: write_t", says)
    assert "A is the rwlock `table`, B is the mutex `first`" in says


def test_one_thread_alone_is_told():
    says = " ".join(lockswap("audit", "--", ORDERS, "same_thread").stderr.split())
    assert "; the same thread takes B at both" in says


def test_a_wrapper_is_not_named_as_the_place(audit):
    example = the_example(audit(PROGRAMS / "audit_orders_wrapped"))
    places = [example["at"], example["other_at"], *example["more_at"]]
    assert all(re.match(r"transfer, orders_wrapped.cpp:\d+ \(", place) for place in places), places
    assert example["stack_at"][0].startswith("__gthread_mutex_lock")
    # Lambdas of main: the frames of std::thread that it began with are left out.
    assert example["stack_at"][-1].startswith("main::"), example["stack_at"]
    says = " ".join(lockswap("audit", "--", PROGRAMS / "audit_orders_wrapped").stderr.split())
    assert "make sure that one address is one lock" in says


def test_both_waits_of_a_condition_variable_are_named(audit):
    example = the_example(audit(ORDERS, "two_mutexes"))
    wait = line_of("pthread_cond_wait(")
    assert example["stack_at"] == example["other_stack_at"] == [f"wait_for_change orders.c:{wait}"]
    assert example["thread"] != example["other_thread"] != 0
    says = " ".join(lockswap("audit", "--", ORDERS, "two_mutexes").stderr.split())
    assert re.search(r"thread \d+ waits at wait_for_change, .*; thread \d+ waits with another mutex at wait_f", says)


def test_who_took_what_another_released_is_named(audit):
    example = the_example(audit(ORDERS, "foreign"))
    assert example["stack_at"][1] == f"foreign orders.c:{line_of('unlock(&first);', 'static void foreign')}"
    assert example["other_stack_at"][1] == f"take_first orders.c:{line_of('lock(&first);', 'static void* take_first')}"
    assert example["thread"] != example["other_thread"] != 0


def test_what_was_not_looked_at_is_told(audit):
    report = audit(ORDERS, "holds_many")
    assert report["counts"]["holds_left_out"] == 20 * (1500 - 12)
    assert any("held 12 locks of a kind took another one" in note for note in report["notes"])
    report = audit(ORDERS, "ring_of_thirteen")
    assert report["counts"]["circles_too_long"] == 1
    assert any("a cycle of more than 12 locks" in note for note in report["notes"])
