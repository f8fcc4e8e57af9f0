"""What `compare` and `report` show in the terminal: progress, the picture, the sentences."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.text import Text

from lockswap.base.text import as_word, duration, plural
from lockswap.findings import hints
from lockswap.findings.findings import Findings
from lockswap.report import paper_page, squares
from lockswap.report.console import listed, open_console, short
from lockswap.report.tables import left_out, print_whole, tables
from lockswap.report.tables import markdown as tables_markdown


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

    def starts(self, what: str, left_s: float | None) -> None:
        left = "?" if left_s is None else duration(left_s)
        if self.bar:
            self.bar.update(self.task, description=what, left=left)
        elif time.monotonic() - self.last_line > 20:
            self.last_line = time.monotonic()
            print(f"lockswap: {what}{'' if left_s is None else f' ({left} left)'}", file=sys.stderr, flush=True)

    def done(self, share: float, left_s: float | None) -> None:
        if self.bar:
            self.bar.update(self.task, completed=share, left="?" if left_s is None else duration(left_s))

    def says(self, text: str) -> None:
        if text in self.said:  # the same failure in every round is news once
            return
        self.said.add(text)
        if self.bar:
            self.bar.console.print(Text("! ", style="yellow") + Text(text))
        else:
            print(f"lockswap: {text}", file=sys.stderr, flush=True)


def show(findings: Findings, page: Path | None, markdown: bool = False, verbose: bool = False) -> None:
    """The warnings, a line each; the picture; where the page is; and at the end which lock to use, a sentence for each
    kind of locks. `verbose`: before all that the tables, the sentences and the warnings in full."""
    if markdown:
        print("\n".join(_markdown(findings, page)))
        return
    console = open_console()
    if (measured := paper_page.measured_of(findings.campaign)) is not None:
        for line in paper_page.said(measured):
            console.print(Text(line), soft_wrap=True)
        console.print(Text(_where(findings, page)), soft_wrap=True)
        return
    if verbose:
        _details(findings, console)
    elif findings.advice:
        every = f"lockswap report --verbose {as_word(short(findings.folder))}"
        console.print(Text(f"Before you read the figures ('{every}' says more):", style="bold yellow"), soft_wrap=True)
        console.print(listed("!", hints.folded(findings.advice), "yellow"))
    for line in _picture(findings, console):
        console.print(line, soft_wrap=True)
    console.print(Text(_where(findings, page)), soft_wrap=True)
    for sentence in findings.brief:
        # A program that reads the last line of a pipe gets all of it.
        console.print(Text(sentence, style="bold"), soft_wrap=not console.is_terminal)


def _picture(findings: Findings, console: Console) -> Iterator[Text]:
    if any(picture.rows for picture in findings.pictures):
        yield squares.legend(findings.pictures)
    for picture in findings.pictures:
        yield from squares.lines(picture, console.width)


def _details(findings: Findings, console: Console) -> None:
    for workload in findings.campaign.workloads:
        console.print()
        console.print(Text(workload.info["title"], style="bold"))
        for table in tables(workload, console) if workload.measured() else ():
            print_whole(console, table)
        if workload.measured() and (others := left_out(workload)):
            console.print(Text(f"More in the report: {', '.join(others)}", style="dim"))
        console.print(listed("•", findings.sentences[workload.name]))
    console.print()
    console.print(Text("Which lock to use", style="bold"))
    console.print(Text(findings.verdict.sentence))
    if findings.advice:
        console.print()
        console.print(Text("Before you read the figures", style="bold yellow"))
        console.print(listed("!", list(map(str, findings.advice)), "yellow"))
    console.print()


def _markdown(findings: Findings, page: Path | None) -> Iterator[str]:
    for workload in findings.campaign.workloads:
        yield from (f"### {workload.info['title']}", "")
        if workload.measured():
            yield from (*tables_markdown(workload), "")
        yield from (*(f"- {sentence}" for sentence in findings.sentences[workload.name]), "")
    if findings.advice:
        yield from ("### Before you read the figures", "", *(f"- {hint}" for hint in findings.advice), "")
    yield from ("### Which lock to use", "")
    for picture in findings.pictures:
        yield from (*squares.markdown(picture), "")
    yield from (findings.verdict.sentence, "", _where(findings, page), "")
    yield "\n\n".join(f"**{sentence}**" for sentence in findings.brief)


def _where(findings: Findings, page: Path | None) -> str:
    return f"Report: {short(page)}" if page else f"Raw data: {short(findings.folder)}"


def plan_line(jobs: int, locks: list[str], runs: int, resumed: bool, seconds: float | None) -> str:
    """`seconds` None: nobody knows yet."""
    long = "whose length the first will show" if seconds is None else f"about {duration(seconds)}"
    todo = plural(runs, "run") + (" left" if resumed else "")
    return f"{plural(jobs, 'workload')}, locks {', '.join(locks)}: {todo}, {long}"
