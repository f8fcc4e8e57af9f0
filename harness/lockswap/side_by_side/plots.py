"""The plots of campaigns side by side."""

from functools import partial

from lockswap.base.text import plural
from lockswap.report import forest
from lockswap.report.figure import Panel, Plot, plot
from lockswap.report.palette import LockStyle
from lockswap.side_by_side.campaigns import Comparison, SideBySide


def of(side_by_side: SideBySide, name: str, styles: dict[str, LockStyle]) -> Plot | None:
    if not any(ratio for line in side_by_side.of(name) for ratio in line.ratios):
        return None
    title, against = side_by_side.workload(name).info["title"], side_by_side.workload(name).against
    panels = []
    for metric in dict.fromkeys(line.metric.name for line in side_by_side.of(name)):
        groups = _groups(side_by_side, styles, [line for line in side_by_side.of(name) if line.metric.name == metric])
        panels.append(
            Panel(
                f"{title}: {metric}, ratio of each lock to {against} in each campaign, with its interval",
                forest.height(groups),
                partial(forest.draw, groups=groups, title=f"{metric}: ratio to {against}"),
            )
        )
    return plot(
        f"{name}-sides",
        f"Ratio to {against} within each campaign, with the 95 % interval; hollow: all but the last campaign; "
        "grey: the larger noise",
        panels,
    )


def _groups(
    side_by_side: SideBySide, styles: dict[str, LockStyle], lines: list[Comparison]
) -> list[forest.ForestGroup]:
    groups = []
    for threads in dict.fromkeys(line.threads for line in lines):
        here = [line for line in lines if line.threads == threads]
        marks = []
        for line in here:
            for index, letter in enumerate(side_by_side.letters):
                cell = line.cells[index]
                why = cell.failures[0][0] if cell and cell.failures else "not measured"
                marks.append(
                    forest.ForestLine(
                        f"{line.lock}  {letter}" if index == 0 else letter,
                        line.lock,
                        styles[line.lock],
                        line.ratios[index],
                        f"✗ {why}",
                        line.rounds[index],
                        metric=line.metric,
                        hollow=index < len(side_by_side.labels) - 1,
                    )
                )
        noises = [noise for line in here for noise in line.noises if noise]
        groups.append(forest.ForestGroup(plural(threads, "thread"), marks, max(noises, default=None)))
    return groups
