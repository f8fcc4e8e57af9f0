"""Which runs a figure consists of: a workload for each panel, variant and value of the x axis, under certain locks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockswap.base.choice import NONE
from lockswap.figures.figure import FIT, Figure, Line, Panel, X, slug
from lockswap.run import cpus

# Beyond the processors of the machine, the axis goes on to so many times as many threads.
_BEYOND = (2, 4)
# So many values of an axis that isn't threads remain in a short run.
_FEW = 3


@dataclass(frozen=True)
class Axis:
    """The x axis on a machine: what stands below it, and how many of these values fit into the machine."""

    values: tuple[str, ...]
    fitting: int

    @property
    def over_subscribed(self) -> bool:
        return self.fitting < len(self.values)


def axis_of(figure: Figure, threads: tuple[int, ...], processors: int) -> Axis:
    """`threads` are those of the campaign's workloads."""
    fit = [count for count in threads if figure.sleeps or count + figure.beside <= processors]
    if figure.by_threads:
        return Axis(tuple(map(str, threads)), len(fit))
    return Axis(tuple(x.name for x in figure.xs), len(figure.xs) if fit else 0)


def thread_counts(figure: Figure, processors: int, quick: bool) -> tuple[int, ...]:
    """Powers of two up to the machine, all of it, and beyond."""
    most = max(processors - figure.beside, figure.least_threads)
    if not figure.by_threads:
        return (most if figure.threads == FIT else int(figure.threads),)
    counts = {count for count in cpus.thread_counts(most) if count >= figure.least_threads}
    if quick:
        counts = {min(counts), most}
    counts |= {times * most for times in _BEYOND[: 1 if quick else None]}
    return tuple(sorted(counts))


def shortened(figure: Figure) -> tuple[X, ...]:
    """The first, the middle and the last value of an axis: those of a short run."""
    xs = figure.xs
    if len(xs) <= _FEW:
        return xs
    return (xs[0], xs[len(xs) // 2], xs[-1])


def workload_of(figure: Figure, panel: Panel, line: Line, x: X | None) -> str:
    """The name by which a campaign knows the workload of a point."""
    parts = [figure.name, panel.key, line.variant, slug(x.name) if x else ""]
    return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Needed:
    """A workload of a figure: a recipe with these parameters, under these locks."""

    name: str
    title: str
    recipe: str
    params: Mapping[str, Any]
    locks: tuple[str, ...]
    variant: str  # that of its lines


def needed(figure: Figure) -> list[Needed]:
    """The workloads of a figure, in the order of its panels."""
    found: dict[str, Needed] = {}
    for panel, line, x in _points(figure):
        name = workload_of(figure, panel, line, x)
        params = {**panel.params, **line.params, **(x.params if x else {})}
        had = found[name].locks if name in found else (NONE,)
        locks = tuple(dict.fromkeys((*had, line.lock or NONE)))
        what = [panel.title, line.variant, f"{figure.x_label} {x.name}" if x else ""]
        title = f"{figure.title}: {', '.join(part for part in what if part)}"
        found[name] = Needed(name, title.removesuffix(": "), panel.workload, params, locks, line.variant)
    return list(found.values())


def _points(figure: Figure) -> Iterator[tuple[Panel, Line, X | None]]:
    for panel in figure.panels:
        for x in figure.xs or (None,):
            for line in figure.lines:
                yield panel, line, x
