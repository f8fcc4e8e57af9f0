"""A paper's figure: its panels, lines and axes, and what the paper says of it. reader.py reads it from TOML."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

THREADS = "threads"
# Which values of the x axis a statement is about: the first, the last one of the machine, or each one of it.
FEWEST, MOST, ALL = "fewest", "most", "all"
# As many threads as the machine has processors.
FIT = "fit"


@dataclass(frozen=True)
class Panel:
    """One pair of axes: the workload with these parameters."""

    key: str  # as the paper calls it, such as "a"; empty if there is one panel alone
    title: str
    workload: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heading(self) -> str:
        """'(a) one writer: ', '20 % updates: ', or nothing."""
        letter = f"({self.key}) " if self.key.isalpha() and len(self.key) == 1 else ""
        return f"{letter}{self.title}: " if self.title else ""


@dataclass(frozen=True)
class Line:
    """`variant` names the program with `params`; `set` is what stands for {set} where a run measures several things."""

    name: str  # as the paper calls it
    lock: str = ""  # none: the program as it is
    variant: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    set: str = ""


@dataclass(frozen=True)
class X:
    """A value of the x axis, if that is not the number of threads."""

    name: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Y:
    """A y axis: the sum of `metrics` of the recipe, or what `regex` finds. `cpu...` are the same per CPU-second."""

    name: str
    unit: str
    better: str
    metrics: tuple[str, ...] = ()
    cpu: tuple[str, ...] = ()
    regex: str = ""
    cpu_regex: str = ""
    for_work: float | None = None  # the figure is the time for so much work
    over: str = ""  # each line is drawn relative to this one
    over_first: bool = False  # each line is drawn relative to its first value
    lines: tuple[str, ...] = ()  # none: all
    panels: tuple[str, ...] = ()  # none: all

    @property
    def higher_is_better(self) -> bool:
        return self.better == "higher"

    def clock(self, per_cpu: bool) -> str:
        """By which clock a value is, in words."""
        return "by the clock" if not per_cpu else "per CPU-second" if self.higher_is_better else "in CPU time"

    def names(self, line: Line, per_cpu: bool) -> tuple[str, ...]:
        """Of the metrics that are added up for this line."""
        if self.regex:
            return (self.metric_of(line.set, per_cpu),) if self.cpu_regex or not per_cpu else ()
        return self.cpu if per_cpu else self.metrics

    def metric_of(self, of_set: str, per_cpu: bool) -> str:
        return " ".join(word for word in (of_set, self.name, "per CPU-second" if per_cpu else "") if word)

    def has(self, line: Line) -> bool:
        return not self.lines or line.name in self.lines

    def is_in(self, panel: Panel) -> bool:
        return not self.panels or panel.key in self.panels


@dataclass(frozen=True)
class Point:
    panel: Panel
    line: Line
    x: int  # its place on the axis


@dataclass(frozen=True)
class Statement:
    """What the paper says of the figure, in our words, and the ratio of two points that says whether it holds.

    `of` has pairs of lines, whose values at each x are divided; of one line alone, its last value is divided by its
    first one. The quotient must lie from `least` to `most`; where `strict`, equality is not enough. `better`: the
    quotient is turned round where less is better.
    """

    text: str
    of: tuple[tuple[str, ...], ...]
    least: float = 0.0
    most: float = float("inf")
    strict: bool = False
    better: bool = False
    at: str | tuple[str, ...] = MOST
    since: str = ""  # of one line alone: the x from which it is looked at; none: the first
    panels: tuple[str, ...] = ()  # none: all
    y: str = ""  # none: the first
    needs: int = 1  # processors without which it can't be seen


@dataclass(frozen=True)
class Figure:
    name: str  # what one types
    paper: str  # as it is cited
    number: str  # "figure 3"
    title: str
    missing: str = ""  # why it can't be measured; then there is nothing of what follows
    panels: tuple[Panel, ...] = ()
    lines: tuple[Line, ...] = ()
    xs: tuple[X, ...] = ()  # none: the axis has numbers of threads
    x_label: str = ""
    ys: tuple[Y, ...] = ()
    says: tuple[Statement, ...] = ()
    threads: int | str = FIT  # where these are not the axis
    least_threads: int = 1
    beside: int = 0  # threads of the program that are not counted on the axis
    sleeps: bool = False  # its threads hardly use a processor, so more of them than processors decide, too
    model: bool = False
    seconds: int | None = None
    lacks: str = ""  # what the paper's figure has and this one has not, and why
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)  # as it was read, for the campaign's folder

    @property
    def by_threads(self) -> bool:
        return not self.xs

    @property
    def heading(self) -> str:
        model = "Model: " if self.model else ""
        return f"{model}{self.title} ({self.number} of {self.paper})"

    def line(self, name: str) -> Line:
        return next(line for line in self.lines if line.name == name)


def slug(text: str) -> str:
    """For names of workloads and files."""
    kept = "".join(char if char.isalnum() else "-" for char in text.lower())
    return "-".join(part for part in kept.split("-") if part)
