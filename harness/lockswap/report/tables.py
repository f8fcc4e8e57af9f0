"""A campaign's tables in the terminal: as many columns side by side as fit, the others below."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lockswap.base.text import SYMBOL, quantity, si
from lockswap.findings.claims import interval
from lockswap.findings.effects import short, short_interval
from lockswap.findings.measured import Cell, Workload
from lockswap.findings.measures import MetricInfo, split
from lockswap.findings.stats import FASTER, SLOWER, Ratio

COLOR = {FASTER: "green", SLOWER: "red"}
Entry = Text | str
# A terminal of fewer columns has shorter heads.
_NARROW = 100


@dataclass(frozen=True)
class Block:
    """Columns that stay together: their heads, what a cell has there, and what the program against itself has."""

    heads: tuple[str, ...]
    of: Callable[[Cell], list[Entry]]
    noise: Callable[[int], list[Entry]]


def tables(workload: Workload, console: Console) -> list[Table]:
    """The blocks packed into tables that are no wider than the console (or have one block)."""

    narrow = console.width < _NARROW

    def fits(blocks: list[Block]) -> bool:
        return width(_table(workload, blocks, narrow), console) <= console.width

    packed: list[list[Block]] = []
    for group in _groups(workload):
        # A figure's columns stay together if they fit at all.
        for blocks in [group] if fits(group) else [[block] for block in group]:
            if packed and fits(packed[-1] + blocks):
                packed[-1] += blocks
            else:
                packed.append(blocks)
    if fits([*packed[-1], _COST]):
        packed[-1].append(_COST)
    else:
        packed.append([_COST])
    return [_table(workload, blocks, narrow) for blocks in packed]


def markdown(workload: Workload) -> list[str]:
    """All columns in one table of Markdown, however wide it is."""
    table = _table(workload, [block for group in _groups(workload) for block in group] + [_COST])
    columns = [[str(column.header), *(_plain(cell) for cell in column.cells)] for column in table.columns]
    head, *rows = zip(*columns, strict=True)
    rule = ["---:" if column.justify == "right" else "---" for column in table.columns]
    return [_markdown_row(cells) for cells in (head, rule, *rows)]


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _plain(cell: Entry) -> str:
    return " ".join((cell.plain if isinstance(cell, Text) else cell).split())


def width(table: Table, console: Console) -> int:
    """How wide it would like to be."""
    # Measured on a wide console: a narrow one would cut the measure.
    return console.measure(table, options=console.options.update(width=10_000, max_width=10_000)).maximum


def print_whole(console: Console, table: Table) -> None:
    """A table that is wider than the terminal is wrapped by it; rich would leave columns away."""
    usual = console.width
    console.width = max(usual, width(table, console))
    console.print(table)
    console.width = usual


def new_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _table(workload: Workload, blocks: list[Block], narrow: bool = False) -> Table:
    table = new_table()
    table.add_column("thr" if narrow else "threads", justify="right")
    table.add_column("lock", no_wrap=True)
    for block in blocks:
        for head in block.heads:
            table.add_column(head, no_wrap=True, justify="left" if head.startswith(("to ", "per ")) else "right")
    for threads in workload.threads:
        first = True
        for lock in workload.locks:
            cell = workload.cell(threads, lock)
            if cell is None:
                continue
            entries = [entry for block in blocks for entry in block.of(cell)]
            table.add_row(str(threads) if first else "", lock, *entries)
            first = False
        noise = [entry for block in blocks for entry in block.noise(threads)]
        if any(noise):
            table.add_row("", Text("none twice", style="dim"), *noise)
    return table


def left_out(workload: Workload) -> list[str]:
    """The figures that are only in the page."""
    return [metric.name for metric in (*split(workload.metrics)[1], *workload.shown)]


def _groups(workload: Workload) -> list[list[Block]]:
    """A list a figure; of many figures only the first, the page has the others."""
    groups = []
    for metric in split(workload.metrics)[0]:
        figure = workload.per_cpu_figures.get(metric.name)
        groups.append([_by_clock(workload, metric), *([_per_cpu(workload, metric, figure)] if figure else [])])
    return groups


def _by_clock(workload: Workload, metric: MetricInfo) -> Block:
    return Block(
        (metric.name, f"to {workload.against}"),
        lambda cell: [_median(cell, metric), _ratio(workload, cell, metric)],
        lambda threads: ["", _noise(workload, threads, metric)],
    )


def _per_cpu(workload: Workload, metric: MetricInfo, figure: MetricInfo) -> Block:
    # Where it does not stand beside its figure, the head must say whose it is.
    head = "per CPU-second" if len(workload.metrics) == 1 else f"per CPU-s, {metric.name}"
    return Block(
        (head,),
        lambda cell: [_ratio(workload, cell, figure)],
        lambda threads: [_noise(workload, threads, figure)],
    )


def _median(cell: Cell, metric: MetricInfo) -> Entry:
    spread = cell.metric(metric.name)
    if spread is None:
        return Text(cell.failures[0][0] if cell.failures else "–", style="red")
    # 'reads: 9.20M reads/s' says it twice.
    unit = metric.unit.removeprefix(metric.name)
    return f"{si(spread.median)}{unit}" if unit != metric.unit else quantity(spread.median, metric.unit)


def _ratio(workload: Workload, cell: Cell, figure: MetricInfo) -> Entry:
    ratio = workload.ratio(cell.threads, cell.lock, figure) if cell.lock != workload.against else None
    return ratio_text(ratio, workload.against, figure) if ratio else ""


def ratio_text(ratio: Ratio, against: str, metric: MetricInfo) -> Text:
    text = f"{SYMBOL[ratio.verdict]} {short(metric, ratio.estimate)} [{interval(ratio, against, metric)}]"
    return Text(text, style=COLOR.get(ratio.verdict, "dim"))


def _noise(workload: Workload, threads: int, figure: MetricInfo) -> Entry:
    """The program against itself: what is no farther from 1 than this interval is no difference."""
    noise = workload.noise(threads, figure)
    if not noise:
        return ""
    return Text(f"  {short(figure, noise.estimate)} [{short_interval(figure, noise.low, noise.high)}]", style="dim")


def _cost(cell: Cell) -> list[Entry]:
    cpu, good, made = cell.usage("cpu_s"), len(cell.good), len(cell.rows)
    runs: Entry = str(made) if good == made else Text(f"{good} of {made}", style="red")
    return [f"{cpu.median:.2f}" if cpu else "", runs]


_COST = Block(("CPU s", "runs"), _cost, lambda _: ["", ""])
