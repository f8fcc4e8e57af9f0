"""What `compare` and `report` show in the terminal: progress, the summary table, the sentences."""

import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from lockswap import summary
from lockswap.findings import Findings
from lockswap.sentences import interval
from lockswap.text import duration, plural, quantity, times

_COLOR = {"faster": "green", "slower": "red"}


class Live:
    """A progress bar with the time left; on something that is not a terminal, a line now and then."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bar = None
        self.last_line = 0.0
        self.said: set[str] = set()
        if self.console.is_terminal:
            self.bar = Progress(
                BarColumn(bar_width=28),
                TaskProgressColumn(),
                TextColumn("{task.fields[left]:>7} left"),
                TextColumn("{task.description}", markup=False),
                console=self.console,
                transient=True,
            )
            self.task = self.bar.add_task("", total=1.0, left="")

    def __enter__(self) -> "Live":
        if self.bar:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()

    def starts(self, what: str, left_s: float) -> None:
        left = duration(left_s) if left_s else "?"
        if self.bar:
            self.bar.update(self.task, description=what, left=left)
        elif time.monotonic() - self.last_line > 20:
            self.last_line = time.monotonic()
            print(f"lockswap: {what} ({left} left)", file=sys.stderr, flush=True)

    def done(self, share: float, left_s: float) -> None:
        if self.bar:
            self.bar.update(self.task, completed=share, left=duration(left_s))

    def says(self, text: str) -> None:
        if text in self.said:  # the same failure in every round is news once
            return
        self.said.add(text)
        if self.bar:
            self.bar.console.print(Text("! ", style="yellow") + Text(text))
        else:
            print(f"lockswap: {text}", file=sys.stderr, flush=True)


def show(findings: Findings, page: Path | None) -> None:
    """The table, the sentences, the advice, and where the page is."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    campaign = findings.campaign
    side_by_side = 2 if console.width >= 180 else 1
    for workload in campaign.workloads:
        console.print()
        console.print(Text(workload.info["title"], style="bold"))
        for start in range(0, len(workload.metrics) if workload.measured() else 0, side_by_side):
            console.print(_table(workload, workload.metrics[start : start + side_by_side]))
        console.print(_listed("•", findings.sentences[workload.name]))
    if findings.advice:
        console.print()
        console.print(Text("Before you read the figures", style="bold yellow"))
        console.print(_listed("!", findings.advice, "yellow"))
    console.print()
    where = f"Report: {_short(page)}" if page else f"Raw data: {_short(findings.folder)}"
    console.print(Text(where, style="bold"), soft_wrap=True)


def _listed(mark: str, lines: list[str], style: str = "dim") -> Table:
    """Lines that wrap under themselves, not under their mark."""
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row(Text(mark, style=style), Text(line))
    return grid


def _table(workload: summary.Workload, metrics: list[summary.MetricInfo]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("threads", justify="right")
    table.add_column("lock", no_wrap=True)
    for metric in metrics:
        table.add_column(metric.name, justify="right", no_wrap=True)
        table.add_column(f"to {workload.against}", no_wrap=True)
        if metric.name in workload.twins:
            table.add_column("per CPU-second", no_wrap=True)
    table.add_column("CPU s", justify="right")
    table.add_column("runs", justify="right")
    for threads in workload.threads:
        first = True
        for lock in workload.locks:
            cell = workload.cell(threads, lock)
            if cell is None:
                continue
            table.add_row(str(threads) if first else "", lock, *_figures(workload, cell, metrics))
            first = False
        if any(workload.noise(threads, metric) for metric in metrics):
            table.add_row("", Text("none twice", style="dim"), *_noise(workload, threads, metrics))
    return table


def _figures(workload: summary.Workload, cell: summary.Cell, metrics: list[summary.MetricInfo]) -> list[Text | str]:
    found: list[Text | str] = []
    for metric in metrics:
        spread = cell.metric(metric.name)
        if spread is None:
            status = cell.failures[0][0] if cell.failures else "–"
            found += [Text(status, style="red"), *[""] * (2 if metric.name in workload.twins else 1)]
            continue
        found.append(quantity(spread.median, metric.unit))
        for figure in (metric, workload.twins.get(metric.name)):
            if figure:
                found.append(_ratio(workload, cell, figure))
    cpu = cell.usage("cpu_s")
    found.append(f"{cpu.median:.2f}" if cpu else "")
    good, made = len(cell.good), len(cell.rows)
    found.append(str(made) if good == made else Text(f"{good} of {made}", style="red"))
    return found


def _ratio(workload: summary.Workload, cell: summary.Cell, figure: summary.MetricInfo) -> Text | str:
    ratio = workload.ratio(cell.threads, cell.lock, figure) if cell.lock != workload.against else None
    if ratio is None:
        return ""
    text = f"{times(ratio.estimate):>6} [{interval(ratio, workload.against)}]"
    return Text(text, style=_COLOR.get(ratio.verdict, "dim"))


def _noise(workload: summary.Workload, threads: int, metrics: list[summary.MetricInfo]) -> list[Text | str]:
    """The program against itself: what is no farther from 1 than this interval is no difference."""
    found: list[Text | str] = []
    for metric in metrics:
        found.append("")
        for figure in (metric, workload.twins.get(metric.name)):
            if figure:
                noise = workload.noise(threads, figure)
                found.append(Text(f"{times(noise.estimate):>6} [{interval(noise)}]" if noise else "", style="dim"))
    return found


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path.resolve())


def plan_line(jobs: int, locks: list[str], runs: int, seconds: float) -> str:
    return f"{plural(jobs, 'workload')}, locks {', '.join(locks)}: {plural(runs, 'run')}, about {duration(seconds)}"
