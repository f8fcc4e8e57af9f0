"""Colours that everybody can tell apart, computed: contrast, and the three kinds of colour blindness."""

import itertools

import numpy as np
import pytest

from lockswap.report.palette import THEME, looks

OURS = ["none", "pthread", "ba", "bravo-ba", "pf-t", "bravo-pf-t", "bravo-pthread", "cohort", "per-cpu", "rlu"]
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
    for look in looks([*OURS, *"uvwxyz"]).values():
        assert contrast(THEME[look.variable][theme], THEME["paper"][theme]) >= 3, look


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_our_locks_can_be_told_apart(sight, theme):
    seen = {lock: lab(SIGHT[sight] @ linear(THEME[f"lock-{lock}"][theme])) for lock in OURS}
    for one, other in itertools.combinations(OURS, 2):
        assert np.linalg.norm(seen[one] - seen[other]) >= 16, (one, other)


def test_every_lock_has_a_marker_of_its_own():
    found = looks([*OURS, *"uvwxyz"])
    assert len({look.marker for look in found.values()}) == len(found) == len({look.path for look in found.values()})
