"""When threads waited: slots of several processes and widths on one axis, and windows of them."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.profile import timeline, window  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402
from lockswap.profile.summary import Lock, Profile, Waited  # noqa: E402


def profile(*parts: Waited, begin: int = 1000, end: int = 1000 + 64 * 100) -> tuple[Profile, Lock]:
    lock = Lock("mutex", "hot", Function("f"), False, timeline=list(parts))
    process = {"started_ns": begin, "last_ns": end}
    return Profile(None, 10_000, [lock], [], [], [process], []), lock


def test_one_process_keeps_its_slots():
    found, lock = profile(Waited(1000, 64, [0, 5, 0, 7]))
    on = timeline.axis(found)
    assert (on.columns, on.column_ns) == (100, 64)
    assert timeline.columns(lock, on)[:5] == pytest.approx([0, 5, 0, 7, 0])


def test_two_widths_share_an_axis_and_nothing_is_lost():
    found, lock = profile(Waited(1000, 64, [64] * 100), Waited(1640, 256, [0, 512]))
    on = timeline.axis(found)
    assert on.column_ns == 256
    columns = timeline.columns(lock, on)
    assert sum(columns) == pytest.approx(6400 + 512)
    # The second process began 2.5 columns later, so its slot lies in two of them.
    assert columns[3] - columns[2] == pytest.approx(256) and columns[4] - columns[5] == pytest.approx(256)


def test_without_waits_there_is_no_axis():
    found, _ = profile()
    assert timeline.axis(found) is None


def test_a_window_is_what_came_since():
    after, before = {"slot_ns": 4, "waited_ns": [6, 8, 9]}, {"slot_ns": 2, "waited_ns": [1, 5, 2]}
    assert window._timeline(after, before) == {"slot_ns": 4, "waited_ns": [0, 6, 9]}
