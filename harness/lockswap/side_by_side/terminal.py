"""Campaigns side by side in the terminal."""

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockswap.base.text import SYMBOL
from lockswap.findings import change, effects
from lockswap.findings.change import CHANGED, Change
from lockswap.findings.claims import interval_of_change
from lockswap.report.console import listed, open_console, short
from lockswap.report.tables import COLOR, Entry, new_table, print_whole, ratio_text, width
from lockswap.side_by_side.campaigns import Comparison, SideBySide
from lockswap.side_by_side.differences import Difference


def show(side_by_side: SideBySide, page: Path) -> None:
    """What differs, what changed, and where the page is."""
    console = open_console()
    console.print(Text("What differs", style="bold"))
    differing = [line for line in side_by_side.differences if line.differs]
    console.print(_differences(side_by_side, differing) if differing else "Nothing that is recorded.")
    console.print()
    console.print(Text("What changed: ▲ better, ▼ worse, = not changed, ? can't tell", style="bold"))
    for name in side_by_side.workloads:
        console.print()
        console.print(Text(side_by_side.workload(name).info["title"], style="bold"))
        for table in _changes(side_by_side, side_by_side.first(name), console):
            print_whole(console, table)
        if others := side_by_side.more_names(name):
            console.print(Text(f"More in the report: {others}", style="dim"))
    if side_by_side.cautions:
        console.print()
        console.print(Text("Before you read the changes", style="bold yellow"))
        console.print(listed("!", side_by_side.cautions, "yellow"))
    console.print()
    console.print(Text(f"Report: {short(page)}", style="bold"), soft_wrap=True)


def _differences(side_by_side: SideBySide, differing: list[Difference]) -> Table:
    table = new_table()
    table.add_column("", style="dim")
    for letter, label in zip(side_by_side.letters, side_by_side.labels, strict=True):
        table.add_column(f"{letter}: {label}", overflow="fold")
    for line in differing:
        table.add_row(Text(line.what), *(Text(value) for value in line.values))
    return table


def _changes(side_by_side: SideBySide, lines: list[Comparison], console: Console) -> list[Table]:
    """One table if it fits, with the ratios' intervals if they fit too; else one for each later campaign; else the
    ratios, then a table for each change."""
    every = list(range(1, len(side_by_side.labels)))
    ways = (
        [_table(side_by_side, lines, [0, *every], every, intervals=True)],
        [_table(side_by_side, lines, [0, *every], every)],
        [_table(side_by_side, lines, [0, number], [number]) for number in every],
    )
    for tables in ways:
        if all(width(table, console) <= console.width for table in tables):
            return tables
    return [_table(side_by_side, lines, [0, *every], []), *(_table(side_by_side, lines, [], [n]) for n in every)]


def _table(
    side_by_side: SideBySide, lines: list[Comparison], ratios: list[int], changes: list[int], intervals: bool = False
) -> Table:
    """The ratios of some campaigns, and how they changed from the first to others."""
    table = new_table()
    table.add_column("figure", no_wrap=True)
    table.add_column("threads" if intervals else "thr", justify="right")
    table.add_column("lock", no_wrap=True)
    marks = side_by_side.letters
    for number in ratios:
        table.add_column(f"ratio in {marks[number]}" if intervals else marks[number], no_wrap=True)
    for number in changes:
        table.add_column(f"{marks[0]} → {marks[number]}", no_wrap=True)
    before = None
    for line in lines:
        new = before is None or before.metric.name != line.metric.name
        other = new or before.threads != line.threads
        table.add_row(
            line.metric.name if new else "",
            str(line.threads) if other else "",
            line.lock,
            *(_ratio(side_by_side, line, number, intervals) for number in ratios),
            *(_change(line.changes[number - 1]) for number in changes),
        )
        before = line
    return table


def _ratio(side_by_side: SideBySide, line: Comparison, number: int, intervals: bool) -> Entry:
    ratio, cell = line.ratios[number], line.cells[number]
    if ratio is None:
        return Text(cell.failures[0][0] if cell and cell.failures else "–", style="red")
    if intervals:
        return ratio_text(ratio, side_by_side.workload(line.workload).against, line.metric)
    return Text(
        f"{SYMBOL[ratio.verdict]} {effects.short(line.metric, ratio.estimate)}", style=COLOR.get(ratio.verdict, "dim")
    )


def _change(found: Change | None) -> Entry:
    if found is None:
        return Text("–", style="dim")
    style = ("green" if found.better else "red") if found.verdict == CHANGED else "dim"
    return Text(
        f"{change.symbol(found)} {effects.short(None, found.estimate)} [{interval_of_change(found)}]", style=style
    )
