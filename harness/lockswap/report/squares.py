"""The picture in the terminal and in Markdown: a line a workload, a column a lock, as many locks as fit."""

from collections.abc import Iterator

from rich.text import Text

from lockswap.base.text import plural
from lockswap.findings.picture import BETTER, FAILED, MEANS, MIXED, SIGN, WORSE, Picture, Square

_STYLE = {BETTER: "green", WORSE: "red", MIXED: "yellow", FAILED: "red"}


def legend(pictures: list[Picture]) -> Text:
    """What the signs mean that occur."""
    found = {kind for picture in pictures for kind in picture.kinds}
    parts = [
        Text(f"{sign} {MEANS[kind]}", style=_STYLE.get(kind, "dim")) for kind, sign in SIGN.items() if kind in found
    ]
    return Text("  ").join(parts)


def lines(picture: Picture, wide: int) -> Iterator[Text]:
    """A line a workload after the heads; locks that do not fit are counted behind them."""
    first = [picture.title, *(row.workload.name for row in picture.rows)]
    left = max(map(len, first))
    for both, gap in ((True, 2), (False, 2), (False, 1)):
        columns = [_column(picture, lock, both) for lock in picture.locks]
        widths = [max(map(len, column)) for column in columns]
        if left + sum(widths) + gap * len(widths) <= wide:
            break
    fitting = _fitting(widths, wide - left, gap)
    rest = len(columns) - fitting
    if rest:
        fitting = max(1, _fitting(widths, wide - left - len(_more(rest)), gap))
        rest = len(columns) - fitting
    for number, name in enumerate(first):
        line = Text(name.ljust(left), style="dim" if number == 0 else "")
        for column, width in zip(columns[:fitting], widths[:fitting], strict=True):
            line.append(" " * gap)
            line.append_text(column[number].copy())
            line.append(" " * (width - len(column[number])))
        if rest and number == 0:
            line.append(_more(rest), style="dim")
        line.rstrip()
        yield line


def _column(picture: Picture, lock: str, both: bool) -> list[Text]:
    return [Text(picture.short(lock)), *(_entry(row.squares[lock], both) for row in picture.rows)]


def _entry(square: Square, both: bool) -> Text:
    return Text(square.both if both else square.brief, style=_STYLE.get(square.kind, "dim"))


def _fitting(widths: list[int], wide: int, gap: int) -> int:
    """How many of the first columns fit."""
    total = 0
    for number, width in enumerate(widths):
        total += gap + width
        if total > wide:
            return number
    return len(widths)


def _more(rest: int) -> str:
    return f" +{plural(rest, 'lock')}"


def markdown(picture: Picture) -> list[str]:
    """All of it as a table."""
    head = [picture.title, *(picture.short(lock) for lock in picture.locks)]
    rows = [[row.workload.name, *(row.squares[lock].both for lock in picture.locks)] for row in picture.rows]
    rule = ["---"] * len(head)
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]
