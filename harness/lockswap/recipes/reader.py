"""Recipes: what a workload is, read from apps/recipes/*.toml. The format is in docs/recipes.md.

Only the loading and checking is here; what a program's output means is in judge.py.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from lockswap.base.choice import RWLOCK
from lockswap.base.errors import UserError
from lockswap.base.nearest import unknown
from lockswap.recipes import toml_table
from lockswap.recipes.recipe import BUILT_IN, KINDS, PLACEHOLDER, Expectation, LockCheck, Metric, Recipe, Variant
from lockswap.recipes.server import Ready, Server
from lockswap.recipes.toml_table import Table

SCHEMA = 1
ROLES = ("reads", "writes", "total", "time", "info")
AGGREGATES = ("first", "last", "sum", "max", "min", "mean")
STREAMS = ("stdout", "stderr", "both", "server")
TAGS = ("quick", "long", "extra")

ALL = "all"  # in place of a name: every workload but those by name only
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_FACTOR = re.compile(r"\{(\w+)\}|([0-9]+(?:\.[0-9]+)?)")


def load_all(folder: Path, of_structures: Path | None = None) -> dict[str, Recipe]:
    """All workloads by name: those of `folder`, quick ones first, and then those of structures; variants stay in their
    recipe's order."""
    recipes = _in(folder)
    if of_structures is not None:
        recipes += [replace(recipe, of_structures=True) for recipe in _in(of_structures)]
    recipes.sort(key=lambda r: (r.of_structures, r.by_name, not r.quick, r.family or r.name))
    return {recipe.name: recipe for recipe in recipes}


def _in(folder: Path) -> list[Recipe]:
    return [recipe for path in sorted(folder.glob("*.toml")) for recipe in expanded(load(path))]


def expanded(recipe: Recipe) -> list[Recipe]:
    """Its variants as workloads; a recipe without variants is one itself."""
    if not recipe.variants:
        return [recipe]
    return [
        replace(
            recipe,
            name=f"{recipe.name}-{variant.name}",
            title=f"{recipe.title}, {variant.title}",
            params={**recipe.params, **variant.params},
            variants=(),
            family=recipe.name,
        )
        for variant in recipe.variants
    ]


def choose(
    recipes: Mapping[str, Recipe], names: list[str], quick: bool, kinds: Collection[str] = tuple(KINDS)
) -> list[Recipe]:
    """The workloads of a campaign: those named, or all that take locks of these kinds but those by name only (with
    `quick`: the quick ones). What is about rwlocks comes first.

    The name of a recipe with variants stands for all of them, and ALL for what a campaign has that isn't quick.
    """
    if names == [ALL]:
        names, quick = [], False
    if not names:
        wanted = [r for r in recipes.values() if not r.by_name and set(r.takes) & set(kinds) and (r.quick or not quick)]
        return sorted(wanted, key=lambda recipe: recipe.takes[0] != RWLOCK)
    chosen = []
    for name in names:
        named = [recipe for recipe in recipes.values() if name in (recipe.name, recipe.family)]
        if not named:
            families = {recipe.family: recipe.family for recipe in recipes.values() if recipe.family}
            raise unknown("workload", name, [*families, *recipes], "lockswap list workloads")
        chosen += [recipe for recipe in named if recipe not in chosen]
    return chosen


def load(path: Path) -> Recipe:
    return _Reader(path).recipe(toml_table.read(path))


class _Reader:
    """Checks one recipe as it reads it: each complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def recipe(self, data: dict) -> Recipe:
        top = Table(self.fail, "", data)
        schema = top.take("schema", int, required=True)
        if schema != SCHEMA:
            self.fail("schema", f"is {schema}; this harness reads schema {SCHEMA}")
        name = top.take("name", str, required=True)
        if not _NAME.fullmatch(name):
            self.fail("name", "may have letters, digits, '-' and '_' only")
        if name == ALL:
            self.fail("name", f"'{ALL}' stands for all workloads")
        if name != self.path.stem:
            self.fail("name", f"is '{name}', but the file is called '{self.path.name}'")
        params, quick_params = self._params(top)
        peer_param, peers = self._peers(top)
        threads = tuple(top.list_of("threads", int, required=True))
        if not threads or min(threads) < 1:
            self.fail("threads", "must have at least one count, all of them 1 or more")
        recipe = Recipe(
            name=name,
            title=top.take("title", str, required=True),
            source=top.take("source", str, required=True),
            measures=top.take("measures", str, required=True),
            command=tuple(top.list_of("command", str, required=True)),
            threads=threads,
            metrics=tuple(self._metric(table) for table in top.tables("metric")),
            expect=tuple(self._expectation(table) for table in top.tables("expect")),
            lock_check=self._lock_check(top.table("lock_check")),
            note=top.take("note", str, default=""),
            build=top.take("build", str),
            prepare=self._commands(top, "prepare"),
            cleanup=self._commands(top, "cleanup"),
            server=_server(top.table("server")),
            takes=tuple(top.list_of("takes", str, default=[RWLOCK])),
            env=self._env(top),
            threads_label=top.take("threads_label", str, default="threads"),
            seconds=top.take("seconds", int, default=2),
            fixed_work=top.take("fixed_work", bool, default=False),
            run_s=top.take("run_s", float),
            params=params,
            quick_params=quick_params,
            peers=peers,
            peer_param=peer_param,
            variants=tuple(self._variant(table) for table in top.tables("variant")),
            tags=tuple(top.list_of("tags", str)),
            timeout=top.take("timeout", float),
            exit_status=top.take("exit_status", int, default=0),
            skip_status=top.take("skip_status", int),
            memory_mb=top.take("memory_mb", int, default=0),
            tmp_mb=top.take("tmp_mb", int, default=0),
        )
        top.done()
        self._check(recipe)
        return recipe

    def _check(self, recipe: Recipe) -> None:
        if not recipe.command:
            self.fail("command", "is empty")
        self._check_metrics(recipe.metrics)
        for tag in recipe.tags:
            if tag not in TAGS:
                self.fail("tags", str(unknown("tag", tag, TAGS)))
        if not recipe.takes or set(recipe.takes) - set(KINDS):
            self.fail("takes", f"must be a list of at least one of: {', '.join(KINDS)}")
        if recipe.run_s is not None and not (recipe.fixed_work and recipe.run_s > 0):
            self.fail("run_s", "must be more than 0, and needs fixed_work = true")
        if recipe.seconds < 1:
            self.fail("seconds", "must be 1 or more")
        self._check_params(recipe)
        self._check_placeholders(recipe)
        self._check_work(recipe)
        if recipe.fixed_work and any(metric.per == "second" for metric in recipe.metrics):
            self.fail("metric.per", "'second' makes no sense with fixed_work; use from = \"wall\"")

    def _check_metrics(self, metrics: tuple[Metric, ...]) -> None:
        if not metrics:
            self.fail("metric", "at least one [[metric]] is needed")
        names = [metric.name for metric in metrics]
        if len(set(names)) != len(names):
            self.fail("metric", "two metrics have the same name")
        for metric in metrics:
            if (metric.kept is None) != (metric.instead is None):
                self.fail("metric.kept", "needs 'instead', the metric over all the time, and 'instead' needs 'kept'")
            for key in ("kept", "instead"):
                other = getattr(metric, key)
                if other is not None and (other not in names or other == metric.name):
                    self.fail(f"metric.{key}", f"'{other}' is not another metric of this recipe")
        if all(metric.role == "info" for metric in metrics):
            self.fail("metric", "at least one must be more than info")

    def _check_params(self, recipe: Recipe) -> None:
        """Each parameter that something sets has a default; variants differ by their names."""
        given = {*recipe.quick_params, *recipe.lock_check.params}.union(*(v.params for v in recipe.variants))
        given |= {recipe.peer_param} - {""}
        for key in given - set(recipe.params):
            self.fail(f"params.{key}", "has no value in params.default")
        if len({variant.name for variant in recipe.variants}) != len(recipe.variants):
            self.fail("variant", "two variants have the same name")

    def _check_placeholders(self, recipe: Recipe) -> None:
        known = {*BUILT_IN, *recipe.params}
        for key, text in _texts(recipe):
            for match in PLACEHOLDER.finditer(text):
                if match[0] not in ("{{", "}}") and match[1] not in known:
                    self.fail(key, f"has the unknown placeholder {match[0]} (double a literal brace)")
                if recipe.fixed_work and match[1] == "seconds":
                    self.fail(key, "uses {seconds}, but fixed_work says that the duration is not fixed")

    def _check_work(self, recipe: Recipe) -> None:
        """What a metric's work is multiplied by is a positive number."""
        for metric in recipe.metrics:
            for name in (factor for factor in metric.work if isinstance(factor, str)):
                value = recipe.threads[0] if name == "threads" else recipe.params.get(name)
                if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
                    self.fail("metric.work", f"{{{name}}} is neither {{threads}} nor a positive number in params")

    def _params(self, top: Table) -> tuple[dict, dict]:
        table = top.table("params")
        default = table.raw("default") or {}
        quick = table.raw("quick") or {}
        table.done()
        for values in (default, quick):
            if not isinstance(values, dict):
                self.fail("params", "needs the tables params.default and params.quick")
            for key in values:
                if key in BUILT_IN:
                    self.fail(f"params.{key}", "is a placeholder of the harness; choose another name")
        return default, quick

    def _peers(self, top: Table) -> tuple[str, tuple[str, ...]]:
        """`peers.PARAMETER = [VALUE, ...]`: what the program is built with instead of the locks that are swapped."""
        table = top.table("peers")
        if not table.data:
            return "", ()
        if len(table.data) > 1:
            self.fail("peers", "needs one parameter, with a list of its values")
        (param,) = table.data
        names = table.list_of(param, str)
        for name in names:
            if not _NAME.fullmatch(name):
                self.fail(f"peers.{param}", f"'{name}': a peer's name may have letters, digits, '-' and '_' only")
        if len(set(names)) != len(names):
            self.fail(f"peers.{param}", "two peers have the same name")
        return param, tuple(names)

    def _variant(self, table: Table) -> Variant:
        variant = Variant(
            name=table.take("name", str, required=True),
            title=table.take("title", str, required=True),
            params=table.raw("params") or {},
        )
        table.done()
        if not _NAME.fullmatch(variant.name):
            self.fail(f"{table.where}.name", "may have letters, digits, '-' and '_' only")
        if not isinstance(variant.params, dict):
            self.fail(f"{table.where}.params", "must be a table")
        return variant

    def _commands(self, top: Table, key: str) -> tuple[tuple[str, ...], ...]:
        commands = top.list_of(key, list)
        for command in commands:
            if not command or not all(isinstance(word, str) for word in command):
                self.fail(key, "must be a list of commands, each a list of strings")
        return tuple(tuple(command) for command in commands)

    def _env(self, top: Table) -> dict[str, str]:
        env = top.raw("env") or {}
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            self.fail("env", "must be a table of strings")
        return env

    def _metric(self, table: Table) -> Metric:
        metric = Metric(
            name=table.take("name", str, required=True),
            role=table.one_of("role", ROLES, required=True),
            unit=table.take("unit", str, required=True),
            better=table.one_of("better", ("higher", "lower"), required=True),
            regex=table.regex("regex", groups=1),
            stream=table.one_of("stream", STREAMS, default="both"),
            agg=table.one_of("agg", AGGREGATES, default="last"),
            per=table.one_of("per", ("second", "wall second")),
            scale=table.take("scale", float, default=1.0),
            source=table.one_of("from", ("wall", "cpu")),
            work=self._work(table),
            kept=table.take("kept", str),
            instead=table.take("instead", str),
            optional=table.take("optional", bool, default=False),
        )
        table.done()
        if (metric.regex is None) == (metric.source is None):
            self.fail(table.where, f"metric '{metric.name}' needs either 'regex' or 'from'")
        if metric.work and (metric.better != "higher" or metric.per):
            self.fail(table.where, "'work' turns seconds into a rate: it needs better = \"higher\", and no 'per'")
        return metric

    def _work(self, table: Table) -> tuple[str | float, ...]:
        """A product such as '2 * {threads} * {records}'; nothing else, so that it needs no evaluation."""
        text = table.take("work", str)
        if text is None:
            return ()
        factors = [_FACTOR.fullmatch(part.strip()) for part in text.split("*")]
        if not all(factors):
            self.fail(
                f"{table.where}.work", "must be a product of numbers and placeholders: '2 * {threads} * {records}'"
            )
        return tuple(match[1] or float(match[2]) for match in factors)

    def _expectation(self, table: Table) -> Expectation:
        expectation = Expectation(
            why=table.take("why", str, required=True),
            stream=table.one_of("stream", STREAMS, default="both"),
            match=table.regex("match"),
            no_match=table.regex("no_match"),
            equal=table.regex("equal", groups=2),
            regex=table.regex("regex", groups=1),
            at_least=table.take("at_least", float),
            at_most=table.take("at_most", float),
        )
        table.done()
        kinds = (expectation.match, expectation.no_match, expectation.equal, expectation.regex)
        if sum(kind is not None for kind in kinds) != 1:
            self.fail(table.where, "needs exactly one of 'match', 'no_match', 'equal', 'regex'")
        bounded = expectation.at_least is not None or expectation.at_most is not None
        if bounded != (expectation.regex is not None):
            self.fail(table.where, "'regex' needs 'at_least' or 'at_most', and they need 'regex'")
        return expectation

    def _lock_check(self, table: Table) -> LockCheck:
        check = LockCheck(
            threads=table.take("threads", int, default=2),
            seconds=table.take("seconds", int, default=1),
            params=table.raw("params") or {},
            min_reads=table.take("min_reads", int, default=0),
            min_writes=table.take("min_writes", int, default=0),
            min_acquisitions=table.take("min_acquisitions", int, default=1),
            operations=table.regex("operations", groups=1),
            reads_per_operation=table.take("reads_per_operation", float),
            writes_per_operation=table.take("writes_per_operation", float),
            acquisitions_per_operation=table.take("acquisitions_per_operation", float),
            min_mutex_acquisitions=table.take("min_mutex_acquisitions", int, default=1),
            mutex_acquisitions_per_operation=table.take("mutex_acquisitions_per_operation", float),
            program=table.take("program", str),
        )
        table.done()
        shares = (
            check.reads_per_operation,
            check.writes_per_operation,
            check.acquisitions_per_operation,
            check.mutex_acquisitions_per_operation,
        )
        if any(share is not None for share in shares) and check.operations is None:
            self.fail("lock_check", "'..._per_operation' needs 'operations', the regex that counts them")
        return check

    def fail(self, key: str, message: str) -> NoReturn:
        raise UserError(f"{self.path}: {key}: {message} (docs/recipes.md has the format)")


def _texts(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """What may have placeholders, each with its key."""
    texts: dict[str, Collection[str]] = {"command": recipe.command, "env": recipe.env.values()}
    texts |= {f"prepare[{index}]": entry for index, entry in enumerate(recipe.prepare)}
    texts |= {f"cleanup[{index}]": entry for index, entry in enumerate(recipe.cleanup)}
    if recipe.server:
        texts |= {"server.command": recipe.server.command, "server.ready": (recipe.server.ready,)}
    for key, found in texts.items():
        yield from ((key, text) for text in found)


def _server(table: Table) -> Server | None:
    """From a recipe's [server] table; None if it has none."""
    if not table.data:
        return None
    server = Server(
        command=tuple(table.list_of("command", str, required=True)),
        ready=table.take("ready", str, required=True),
        ready_timeout=table.take("ready_timeout", float, default=Server.ready_timeout),
        stop=table.take("stop", str, default=Server.stop),
        stop_timeout=table.take("stop_timeout", float, default=Server.stop_timeout),
        exit_status=table.take("exit_status", int, default=Server.exit_status),
    )
    table.done()
    if not server.command:
        table.fail("server.command", "is empty")
    for key in ("ready_timeout", "stop_timeout"):
        if getattr(server, key) <= 0:
            table.fail(f"server.{key}", "must be more than 0")
    try:
        server.stop_signal  # noqa: B018
    except ValueError as error:
        table.fail("server.stop", str(error))
    try:
        Ready.parse(server.ready.replace("{port}", "1"))
    except ValueError as error:
        table.fail("server.ready", str(error))
    return server
