"""Colours that everybody can tell apart, computed: contrast, and the three kinds of colour blindness."""

import itertools

import numpy as np
import pytest
from matplotlib.markers import MarkerStyle

from lockswap.base.choice import NONE, PTHREAD
from lockswap.base.registry import Lock, RangeLock, Registry
from lockswap.report import markers
from lockswap.report.palette import FAR_APART, THEME, Palette

# More locks than the library has, and nearly as many as there are colours.
LOCKS = [NONE, PTHREAD, *(f"lock{number}" for number in range(40))]
STYLES = Palette(LOCKS).styles(LOCKS)
# What remains of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "all": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(color: str) -> np.ndarray:
    values = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1, 1.08883])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(color)) for color in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_each_lock_stands_out_from_the_paper(theme):
    for style in STYLES.values():
        assert contrast(THEME[style.variable][theme], THEME["paper"][theme]) >= 3, style


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_what_is_compared_by_default_can_be_told_apart(sight, theme):
    locks = LOCKS[: 2 + FAR_APART]
    seen = {lock: lab(SIGHT[sight] @ linear(THEME[STYLES[lock].variable][theme])) for lock in locks}
    for one, other in itertools.combinations(locks, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 16, (one, other)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_no_two_locks_share_a_colour(theme):
    seen = [lab(linear(THEME[style.variable][theme])) for style in STYLES.values()]
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) >= 7


CAMPAIGNS = [
    ["pthread", "lock3", "mutex:lock3"],
    ["mutex:lock3", "mutex:lock3@LOCKSWAP_WAIT=spin", "lock3"],
    ["mutex:lock3@LOCKSWAP_WAIT=spin", "mutex:lock3"],
    ["none", "pthread", "mutex:pthread", "lock1", "lock1+mutex:pthread", "lock1+mutex:lock1", "stranger"],
    [NONE, PTHREAD, *(f"bravo-lock{number}" for number in range(20)), *LOCKS[2:22]],
]


@pytest.mark.parametrize("locks", CAMPAIGNS)
def test_no_two_locks_of_a_campaign_share_a_colour(locks):
    styles = Palette(LOCKS).styles(locks)
    assert list(styles) == locks
    assert len({style.variable for style in styles.values()}) == len({style.color for style in styles.values()})
    assert len({style.color for style in styles.values()}) == len(locks)


def test_a_lock_of_the_registry_keeps_its_colour_beside_others():
    palette = Palette(LOCKS)
    assert palette.styles(["mutex:lock3", "lock3"])["lock3"] == palette.styles(["lock3"])["lock3"]


def test_locks_of_one_colour_have_different_markers():
    many = [NONE, PTHREAD, *(f"lock{number}" for number in range(100))]
    styles = Palette(many).styles(many)
    assert len({(style.color, style.marker) for style in styles.values()}) == len(many)
    assert len({(style.color, style.path) for style in styles.values()}) == len(many)
    # Those that are far apart have markers of their own besides.
    first = [STYLES[lock].marker for lock in LOCKS[: 2 + FAR_APART]]
    assert len(set(first)) == len(first)


def test_a_lock_is_drawn_alike_in_every_report_of_a_tree():
    palette = Palette(LOCKS)
    one, other = palette.styles(["none", "lock7", "strange"]), palette.styles(["lock3", "lock7"])
    assert one["lock7"] == other["lock7"] == palette.styles(["mutex:lock7"])["mutex:lock7"]
    assert len({style.color for style in (*one.values(), *other.values())}) == 4


def test_without_a_registry_locks_take_the_colours_in_order():
    styles = Palette().styles(["none", "pthread", "a", "b", "c+mutex:a"])
    assert [style.variable for style in styles.values()] == ["lock-none", "lock-pthread", "lock-1", "lock-2", "lock-3"]


def test_what_is_compared_by_default_comes_first():
    def lock(name: str, **more) -> Lock:
        return Lock.read({"name": name, **more})

    registry = Registry(
        "0.1.0",
        (lock("pthread"), lock("a"), lock("b", compared_by_default=True)),
        (lock("pthread"), lock("m", compared_by_default=True), lock("b", compared_by_default=True)),
        range_locks=(RangeLock("r"),),
    )
    assert registry.labels == ["b", "m", "pthread", "a", "range:r"]
    assert (registry.default_rwlocks, registry.default_mutexes) == (["b"], ["m", "b"])


def test_a_registry_that_names_no_defaults_means_all_but_glibc():
    registry = Registry("0.1.0", tuple(Lock.read({"name": name}) for name in ("pthread", "a", "b")))
    assert registry.default_rwlocks == ["a", "b"]


@pytest.mark.parametrize("marker", markers.PATHS)
def test_a_page_shows_the_markers_of_its_plots(marker):
    style = MarkerStyle(marker)
    shape = style.get_path().transformed(style.get_transform())
    reach = abs(shape.get_extents().get_points()).max()
    letters = {1: "M", 2: "L", 4: "C", 79: "Z"}
    parts = []
    for points, code in shape.iter_segments(simplify=False):
        numbers = [] if code == 79 else points / reach
        parts.append(letters[int(code)] + " ".join(f"{value:.2f}" for value in numbers))
    assert markers.PATHS[marker] == "".join(parts)


def test_each_marker_has_a_path():
    assert {style.marker for style in STYLES.values()} == set(markers.PATHS)
