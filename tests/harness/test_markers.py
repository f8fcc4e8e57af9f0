"""Markers and labels of locks in plots: no marker hides its neighbour, and no label is wrong."""

from itertools import pairwise
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pytest

from lockswap.findings.measured import Workload
from lockswap.findings.phrases import glibcs
from lockswap.findings.stats import Spread
from lockswap.report import plots
from lockswap.report.figure import Panel
from lockswap.report.palette import Palette

HEIGHT, WIDTH = 3.0, Panel("", 3.0, lambda axis: None).width


def workload(locks: int, threads: int) -> SimpleNamespace:
    """All locks are alike, so that only their places keep them apart."""
    spread = Spread(*([5.0] * len(Spread.__dataclass_fields__)))
    cell = SimpleNamespace(spread=lambda value: spread, good=[])
    info = {"threads_label": "threads", "title": "made up"}
    names = ["none", "pthread", *(f"lock{n}" for n in range(locks - 2))]
    counts = [2**n for n in range(threads)]
    return SimpleNamespace(locks=names, threads=counts, info=info, cell=lambda threads, lock: cell)


@pytest.mark.parametrize("locks", [2, 5, 6, 10, 16])
@pytest.mark.parametrize("threads", [1, 5])
def test_no_marker_hides_its_neighbour(locks, threads):
    made = workload(locks, threads)
    figure, axis = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    plots._against_threads(axis, made, Palette().styles(made.locks), lambda row: None)
    figure.canvas.draw()
    to_points = 72 / figure.dpi
    markers = [
        (to_points * axis.transData.transform((x, 5.0))[0], line.get_markersize())
        for line in axis.lines
        if line.get_marker() not in ("None", None, "")
        for x in line.get_xdata()
    ]
    plt.close(figure)
    assert len(markers) == locks * threads
    markers.sort()
    for (left, size), (right, other) in pairwise(markers):
        assert right - left >= 0.8 * (size + other) / 2
    assert min(size for _, size in markers) >= 3.5


def test_few_locks_have_large_markers():
    figure, axis = plt.subplots(figsize=(WIDTH, HEIGHT), layout="constrained")
    assert plots._marker_size(axis, workload(3, 3)) == 7
    plt.close(figure)


@pytest.mark.parametrize(("takes", "says"), [(["range"], "the program as it is"), (["rwlock", "range"], "glibc")])
def test_a_program_without_glibc_s_locks_is_not_labelled_with_them(takes, says):
    made = Workload({"name": "made-up", "takes": takes}, [], [1, 2], ["none", "pthread", "range:a"], {}, {})
    assert plots._legend(made) == {"none": "none (no preload)", "pthread": f"pthread ({says})", "range:a": "range:a"}
    assert glibcs(made).startswith(says)
