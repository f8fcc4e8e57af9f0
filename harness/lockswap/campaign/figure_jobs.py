"""The jobs of a paper's figure: its workloads, made of recipes with the figure's parameters."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lockswap.base.choice import NONE, PTHREAD
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.campaign.job import Job
from lockswap.campaign.request import Request
from lockswap.figures import reader, values
from lockswap.figures.figure import Figure, Line, Y
from lockswap.figures.points import Needed, needed, shortened, thread_counts
from lockswap.recipes import reader as recipes
from lockswap.recipes.recipe import Metric, Recipe
from lockswap.run import cpus


def plan(paths: Paths, request: Request) -> tuple[list[Job], dict[str, Any]]:
    """The jobs, and what campaign.toml records of the figure."""
    figure = reader.find(paths, request.figure or "")
    if figure.missing:
        raise UserError(f"{figure.name} can't be measured: {figure.missing}")
    if request.quick:
        figure = replace(figure, xs=shortened(figure))
    processors = len(cpus.cpus())
    known = recipes.load_all(paths.recipes, paths.structure_recipes)
    return jobs(figure, known, request, processors), values.recorded(figure, processors)


def jobs(figure: Figure, known: Mapping[str, Recipe], request: Request, processors: int) -> list[Job]:
    threads = tuple(request.threads or thread_counts(figure, processors, request.quick))
    if not figure.by_threads and len(threads) > 1:
        raise UserError(f"the x axis of {figure.name} isn't threads: give one number to --threads")
    if few := [count for count in threads if count < figure.least_threads]:
        raise UserError(f"{figure.name} needs at least {figure.least_threads} threads: drop {few[0]} from --threads")
    return [_job(figure, one, known, request, threads) for one in needed(figure)]


def _job(figure: Figure, one: Needed, known: Mapping[str, Recipe], request: Request, threads: tuple[int, ...]) -> Job:
    base = base_of(one, known)
    recipe = replace(
        base,
        name=one.name,
        title=one.title,
        metrics=tuple(metrics(figure, one, base)),
        threads=threads,
        family="",
        variants=(),
    )
    seconds = request.seconds or figure.seconds or base.seconds
    if request.quick and not request.seconds:
        seconds = max(1, seconds // 2)
    params = {**base.params, **(base.quick_params if request.quick else {}), **one.params}
    under_test = [lock for lock in one.locks if lock != NONE]
    against = PTHREAD if PTHREAD in under_test else (under_test or [NONE])[0]
    return Job(recipe, threads, seconds, params, locks=one.locks, against=against)


def base_of(one: Needed, known: Mapping[str, Recipe]) -> Recipe:
    """The recipe that a figure names: a workload, or what several are variants of."""
    found = known.get(one.recipe) or next((r for r in known.values() if r.family == one.recipe), None)
    if found is None:
        raise UserError(f"{one.name}: there is no workload '{one.recipe}'; 'lockswap list workloads' shows all")
    if missing := sorted(set(one.params) - set(found.params)):
        raise UserError(f"{one.name}: the workload '{one.recipe}' has no parameter '{missing[0]}'")
    return found


def metrics(figure: Figure, one: Needed, base: Recipe) -> Iterable[Metric]:
    """The recipe's, or where the figure has expressions of its own, what these find."""
    if not any(y.regex for y in figure.ys):
        return base.metrics
    found: dict[str, Metric] = {}
    for y in figure.ys:
        for line in figure.lines:
            if y.has(line) and line.variant == one.variant:
                found |= {metric.name: metric for metric in _of_line(y, line)}
    return found.values()


def _of_line(y: Y, line: Line) -> Iterable[Metric]:
    if not y.regex:
        raise UserError(f"y '{y.name}': either all of a figure's y axes have a regex, or none has")
    for per_cpu, regex in ((False, y.regex), (True, y.cpu_regex)):
        if regex:
            text = regex.replace("{set}", line.set.replace("-", "_"))
            unit = f"{y.unit.removesuffix('/s')}/{'CPU' if per_cpu else 'wall'}-s" if y.unit.endswith("/s") else y.unit
            yield Metric(y.metric_of(line.set, per_cpu), "total", unit, y.better, text)
