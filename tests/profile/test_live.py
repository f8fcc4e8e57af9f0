"""Which thread that waits was signalled."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.profile import why_text  # noqa: E402
from lockswap.profile.live import Hold, Lock, Signal, State, Thread, Wait  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402

COND = Lock("cond", 0x1000, "changed", True)


# Ages in ns: of the last signal, of the last that reached all who waited (-1: there was none), and of the wait.
@pytest.mark.parametrize(
    ("last", "reached_all", "wait", "signalled"),
    [
        (50, 50, 100, True),
        (150, 150, 100, False),  # before the wait
        (50, -1, 100, False),  # for one of several
        (50, 150, 100, False),  # those since were for others
        (100, 100, 100, True),
    ],
)
def test_a_signal_is_for_whom_it_reached(last, reached_all, wait, signalled):
    signal = Signal(COND.address, 7, 1, last, reached_all, Function("here"))
    state = State(1, "p", {}, {COND.address: [signal]}, 0)
    assert state.is_signalled(Wait(COND, 0, "", wait, False, ())) == signalled


def test_only_condition_variables_are_signalled():
    state = State(1, "p", {}, {COND.address: [Signal(COND.address, 7, 1, 1, 1, Function("here"))]}, 0)
    assert not state.is_signalled(Wait(Lock("mutex", COND.address, "m", True), 0, "", 9, False, ()))


def test_a_wait_of_which_only_the_line_is_known_is_one_of_its_stack():
    stack, other = (Function("take"), Function("work")), (Function("elsewhere"), Function("work"))
    waits = [Wait(COND, 0, "exclusive", age, False, frames) for age, frames in ((9, stack[:1]), (7, stack), (8, other))]
    threads = {n: Thread(n, "w", "sleeps", wait=wait) for n, wait in enumerate(waits)}
    said = why_text.as_text(State(1, "p", threads, {}, 0))
    assert "2 threads (w: 0, 1) have waited 7 ns to 9 ns for cond changed:" in said
    assert "Thread 2 (w) has waited 8 ns for cond changed:" in said


def test_a_hold_is_as_old_as_its_own_thread_s_wait_alone():
    """glibc's readers pass a writer that waits: none of them has held the lock since it came."""
    table, other = Lock("rwlock", 0x2000, "table", True), Lock("mutex", 0x3000, "other", True)
    hold = Hold(table, "shared", -1, Function("read"))
    writer = Thread(2, "writer", "sleeps", wait=Wait(table, 0, "exclusive", 10**9, False, (Function("write"),)))
    reader = Thread(1, "reader", "runs", holds=[hold])
    said = why_text.as_text(State(1, "p", {1: reader, 2: writer}, {}, 0))
    assert "held for reading by thread 1 (reader) taken at read" in said
    assert "has waited 1.00 s for rwlock table" in said and "for at least" not in said
    reader.wait, reader.state = Wait(other, 0, "exclusive", 10**6, False, (Function("read"),)), "sleeps"
    said = why_text.as_text(State(1, "p", {1: reader, 2: writer}, {}, 0))
    assert "held for reading by thread 1 (reader) for at least 1.00 ms, taken at read" in said
