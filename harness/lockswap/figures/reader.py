"""Figures of papers, read from the folders `papers` beside the recipes. docs/papers.md has the format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
from lockswap.base.paths import Paths
from lockswap.figures.figure import ALL, FEWEST, FIT, MOST, THREADS, Figure, Line, Panel, Statement, X, Y, slug
from lockswap.recipes import toml_table
from lockswap.recipes.toml_table import Table

SCHEMA = 1
FOLDER = "papers"  # below the recipes
BETTER = ("higher", "lower")
# What a statement may say of its lines; one of these.
RULES = ("better", "same", "ratio", "grows", "falls", "flat")
_PAIRS = ("better", "same", "ratio")
# Within such a factor two lines are "the same", and one line is "flat", if the statement names none.
_WITHIN = 1.25
_INFINITE = float("inf")


def load_all(paths: Paths) -> dict[str, Figure]:
    """All figures by name, paper by paper in the order of their numbers."""
    folders = (paths.recipes / FOLDER, paths.structure_recipes / FOLDER)
    found = [load(file) for folder in folders for file in folder.glob("*.toml")]
    return {figure.name: figure for figure in sorted(found, key=_order)}


def _order(figure: Figure) -> tuple[str, bool, int]:
    kind, _, number = figure.number.partition(" ")
    return figure.name.rsplit("-", 1)[0].removesuffix("-table"), kind != "figure", int(number)


def find(paths: Paths, name: str) -> Figure:
    figures = load_all(paths)
    if name not in figures:
        raise unknown("figure of a paper", name, list(figures), "lockswap list papers")
    return figures[name]


def load(path: Path) -> Figure:
    figure = parse(toml_table.read(path), str(path))
    if figure.name != path.stem:
        raise UserError(f"{path}: name: is '{figure.name}', but must be the file's name, '{path.stem}'")
    return figure


def parse(data: dict[str, Any], where: str) -> Figure:
    """`where` stands in complaints."""
    return _Reader(where).figure(data)


class _Reader:
    def __init__(self, where: str) -> None:
        self.where = where

    def fail(self, key: str, message: str) -> NoReturn:
        raise UserError(f"{self.where}: {key}: {message} (docs/papers.md has the format)")

    def figure(self, data: dict[str, Any]) -> Figure:
        top = Table(self.fail, "", data)
        if (schema := top.take("schema", int, required=True)) != SCHEMA:
            self.fail("schema", f"is {schema}; this harness reads schema {SCHEMA}")
        named = {key: top.take(key, str, required=True) for key in ("name", "paper", "number", "title")}
        kind, _, number = named["number"].partition(" ")
        if kind not in ("figure", "table") or not number.isdigit():
            self.fail("number", f"is '{named['number']}'; write it like 'figure 3' or 'table 1'")
        if missing := top.take("missing", str):
            top.done()
            return Figure(**named, missing=missing, data=data)
        workload, params = top.take("workload", str, default=""), self._params(top)
        panels = tuple(self._panel(table, workload, params) for table in top.tables("panel"))
        figure = Figure(
            **named,
            panels=panels or self._alone(workload, params),
            lines=tuple(self._line(table) for table in top.tables("line")),
            xs=tuple(self._x(table) for table in top.tables("x")),
            x_label=top.take("x_label", str, default=THREADS),
            ys=tuple(self._y(table) for table in top.tables("y")),
            says=tuple(self._statement(table) for table in top.tables("says")),
            threads=self._threads(top),
            least_threads=top.take("least_threads", int, default=1),
            beside=top.take("beside", int, default=0),
            sleeps=top.take("sleeps", bool, default=False),
            model=top.take("model", bool, default=False),
            seconds=top.take("seconds", int),
            lacks=top.take("lacks", str, default=""),
            note=top.take("note", str, default=""),
            data=data,
        )
        top.done()
        self._check(figure)
        return figure

    def _alone(self, workload: str, params: Mapping[str, Any]) -> tuple[Panel]:
        if not workload:
            self.fail("workload", "is missing: name a workload here, or in each [[panel]]")
        return (Panel("", "", workload, params),)

    def _panel(self, table: Table, workload: str, params: Mapping[str, Any]) -> Panel:
        panel = Panel(
            table.take("key", str, required=True),
            table.take("title", str, required=True),
            table.take("workload", str, default=workload),
            {**params, **self._params(table)},
        )
        table.done()
        if not panel.workload:
            self.fail(f"{table.where}.workload", "is missing")
        return panel

    def _line(self, table: Table) -> Line:
        name, params = table.take("name", str, required=True), self._params(table)
        line = Line(
            name,
            table.take("lock", str, default=""),
            table.take("variant", str, default=slug(name) if params else ""),
            params,
            table.take("set", str, default=""),
        )
        table.done()
        return line

    def _x(self, table: Table) -> X:
        x = X(table.take("name", str, required=True), self._params(table))
        table.done()
        return x

    def _params(self, table: Table) -> Mapping[str, Any]:
        params = table.raw("params") or {}
        if not isinstance(params, dict):
            self.fail(f"{table.where}.params".lstrip("."), "must be a table")
        return params

    def _y(self, table: Table) -> Y:
        name = table.take("name", str, required=True)
        regex = table.take("regex", str, default="")
        metrics = tuple(table.list_of("metrics", str, default=[] if regex else [name]))
        per_cpu = [f"{metric} per CPU-s" for metric in metrics]
        y = Y(
            name,
            table.take("unit", str, required=True),
            table.one_of("better", BETTER, required=True),
            metrics,
            tuple(table.list_of("cpu", str, default=per_cpu)),
            regex,
            table.take("cpu_regex", str, default=""),
            table.take("for_work", float),
            table.take("over", str, default=""),
            table.take("over_first", bool, default=False),
            tuple(table.list_of("lines", str)),
            tuple(table.list_of("panels", str)),
        )
        table.done()
        return y

    def _threads(self, top: Table) -> int | str:
        threads = top.raw("threads")
        if threads is not None and threads != FIT and not (type(threads) is int and threads > 0):
            self.fail("threads", f"is {threads!r}: give a number, or '{FIT}'")
        return threads or FIT

    def _statement(self, table: Table) -> Statement:
        text = table.take("text", str, required=True)
        given = {rule: lines for rule in RULES if (lines := table.raw(rule)) is not None}
        if len(given) != 1:
            self.fail(table.where, f"needs exactly one of {', '.join(RULES)}")
        ((rule, lines),) = given.items()
        least, most, strict = self._bounds(table, rule)
        statement = Statement(
            text,
            self._of(table, rule, lines),
            least,
            most,
            strict,
            better=rule == "better",
            at=self._at(table),
            since=table.take("since", str, default=""),
            panels=tuple(table.list_of("panels", str)),
            y=table.take("y", str, default=""),
            needs=table.take("needs", int, default=1),
        )
        table.done()
        return statement

    def _bounds(self, table: Table, rule: str) -> tuple[float, float, bool]:
        """What the quotient of two points must be, and whether equality is not enough."""
        by, within = (table.take(key, float) for key in ("by", "within"))
        least, most = (table.take(key, float) for key in ("at_least", "at_most"))
        if rule in ("better", "grows"):
            return by or 1.0, _INFINITE, by is None
        if rule == "falls":
            return 0.0, 1 / (by or 1.0), by is None
        if rule in ("same", "flat"):
            factor = within or _WITHIN
            return 1 / factor, factor, False
        if least is None and most is None:
            self.fail(f"{table.where}.ratio", "needs at_least, at_most or both")
        return least or 0.0, most or _INFINITE, False

    def _of(self, table: Table, rule: str, lines: Any) -> tuple[tuple[str, ...], ...]:
        """Pairs of lines, or lines alone; one pair may be written without a list around it."""
        key = f"{table.where}.{rule}"
        if not isinstance(lines, list) or not lines:
            self.fail(key, "must be a list of names of lines")
        if rule not in _PAIRS:
            return tuple((name,) for name in lines)
        pairs = lines if isinstance(lines[0], list) else [lines]
        if any(len(pair) != 2 for pair in pairs):
            self.fail(key, 'must be two lines, such as ["A", "B"], or a list of such pairs')
        return tuple(tuple(pair) for pair in pairs)

    def _at(self, table: Table) -> str | tuple[str, ...]:
        at = table.raw("at")
        if isinstance(at, list) and at:
            return tuple(str(one) for one in at)
        if at not in (None, FEWEST, MOST, ALL):
            self.fail(f"{table.where}.at", f"may be '{FEWEST}', '{MOST}', '{ALL}', or a list of values of the x axis")
        return at or MOST

    def _check(self, figure: Figure) -> None:
        for key, there in (("line", figure.lines), ("y", figure.ys)):
            if not there:
                self.fail(key, f"at least one [[{key}]] is needed")
        self._check_names(figure)
        variants: dict[str, Mapping[str, Any]] = {}
        for line in figure.lines:
            if variants.setdefault(line.variant, line.params) != line.params:
                self.fail("line.params", f"two lines have the variant '{line.variant}' but different params")
        for y in figure.ys:
            if y.regex and "{set}" not in y.regex and len(figure.lines) > 1 and any(line.set for line in figure.lines):
                self.fail("y.regex", "must contain {set}, since lines have a 'set'")

    def _check_names(self, figure: Figure) -> None:
        lines, panels = [line.name for line in figure.lines], [panel.key for panel in figure.panels]
        ys = [y.name for y in figure.ys]
        for key, names in (("line", lines), ("panel", panels), ("y", ys), ("x", [x.name for x in figure.xs])):
            if len(set(names)) != len(names):
                self.fail(key, "two have the same name")
        for y in figure.ys:
            self._known("y", [*y.lines, *([y.over] if y.over else [])], lines)
            self._known("y.panels", y.panels, panels)
        for statement in figure.says:
            self._known("says", [name for names in statement.of for name in names], lines)
            self._known("says.panels", statement.panels, panels)
            self._known("says.y", [statement.y] if statement.y else [], ys)

    def _known(self, key: str, names: Any, there: list[str]) -> None:
        for name in names:
            if name not in there:
                self.fail(key, str(unknown("such name", name, there)))
