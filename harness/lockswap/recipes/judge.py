"""What a program's output means: its metrics, whether its own result is right, whether it took the lock."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from lockswap.base.choice import MUTEX, RWLOCK
from lockswap.base.text import in_seconds
from lockswap.recipes.output import Counts, Output
from lockswap.recipes.recipe import Expectation, LockCheck, Metric, Recipe

_AGGREGATE = {
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
    "sum": sum,
    "max": max,
    "min": min,
    "mean": lambda values: sum(values) / len(values),
}


NOTHING_MATCHES = "in the output nothing matches"


class WrongResult(Exception):
    """The program ended well, but what it printed is not what a right run prints."""


def number(text: str) -> float:
    return float(text.replace(",", "").strip())


def metrics(recipe: Recipe, output: Output, values: Mapping[str, Any], wall_s: float, cpu_s: float) -> dict[str, float]:
    """Each metric's value; a metric that is not optional and not there is a wrong result.

    `values` are those of the command's placeholders.
    """
    found = {}
    for metric in recipe.metrics:
        value = _value(metric, output, wall_s, cpu_s)
        if value is None:
            if metric.optional:
                continue
            raise WrongResult(f"{NOTHING_MATCHES} /{metric.regex}/, so there is no '{metric.name}'")
        if metric.per == "second":
            value /= values["seconds"]
        elif metric.per == "wall second":
            value /= wall_s
        if metric.work:
            if value <= 0:
                raise WrongResult(
                    f"'{metric.name}' took {in_seconds(value)}: too short for this clock; give it more work"
                )
            value = metric.operations(values) / value
        found[metric.name] = value * metric.scale
    return found


def _value(metric: Metric, output: Output, wall_s: float, cpu_s: float) -> float | None:
    if metric.source == "wall":
        return wall_s
    if metric.source == "cpu":
        return cpu_s
    texts = [match[1] for match in re.finditer(metric.regex, output.of(metric.stream), re.MULTILINE)]
    if not texts:
        return None
    try:
        return _AGGREGATE[metric.agg]([number(text) for text in texts])
    except (ValueError, AttributeError):
        raise WrongResult(f"'{metric.name}' is not a number: '{texts[-1]}'") from None


def check_expectations(expectations: Iterable[Expectation], output: Output) -> None:
    for expectation in expectations:
        if not _holds(expectation, output.of(expectation.stream)):
            raise WrongResult(expectation.why)


def _holds(expectation: Expectation, text: str) -> bool:
    if expectation.match is not None:
        return re.search(expectation.match, text, re.MULTILINE) is not None
    if expectation.no_match is not None:
        return re.search(expectation.no_match, text, re.MULTILINE) is None
    matches = list(re.finditer(expectation.equal or expectation.regex, text, re.MULTILINE))
    if not matches:
        return False
    try:
        if expectation.equal is not None:
            return all(number(match[1]) == number(match[2]) for match in matches)
        low = float("-inf") if expectation.at_least is None else expectation.at_least
        high = float("inf") if expectation.at_most is None else expectation.at_most
        return all(low <= number(match[1]) <= high for match in matches)
    except ValueError:
        return False


def read_counts(prefix: Path, program: str | None = None) -> Counts:
    """Add up the files PREFIX.<pid>."""
    counts = Counts()
    for file in prefix.parent.glob(prefix.name + ".*"):
        try:
            data = json.loads(file.read_text(encoding="utf-8", errors="replace"))
        except (OSError, json.JSONDecodeError):
            continue  # a process that was killed while it wrote
        if program and data.get("program") != program:
            continue
        counts.processes += 1
        counts.calls += data.get("calls", 0)
        counts.locks += data.get("locks", 0)
        _add(counts.totals, data.get("totals", {}))
        mutexes = data.get("mutexes") or {}
        counts.mutex_calls += mutexes.get("calls", 0)
        counts.mutexes += mutexes.get("locks", 0)
        _add(counts.mutex_totals, mutexes.get("totals", {}))
        rules = (data.get("policy") or {}).get("rules", ())
        counts.caught += sum(rule["rwlocks"] + rule["mutexes"] for rule in rules)
    return counts


def _add(totals: dict[str, int], more: Mapping[str, int]) -> None:
    for key, value in more.items():
        totals[key] = totals.get(key, 0) + value


def lock_check_failure(
    check: LockCheck, counts: Counts, output: Output, kinds: Collection[str] = (RWLOCK,), one_will_do: bool = False
) -> str | None:
    """Why this run does not show that the program takes the locks under test; None if it does.

    All `kinds` of them, or with `one_will_do` any.
    """
    if counts.processes == 0:
        return (
            "the library was not loaded (no counts were written): a static, setuid or non-glibc program, "
            "or one that leaves without running exit handlers; or it calls no lock, behind another program"
        )
    judges = {RWLOCK: _rwlocks_failure, MUTEX: _mutexes_failure}
    problems = [judges[kind](check, counts, output) for kind in judges if kind in kinds]
    if one_will_do and None in problems:
        return None
    return "; ".join(problem for problem in problems if problem) or None


def _rwlocks_failure(check: LockCheck, counts: Counts, output: Output) -> str | None:
    if counts.calls == 0:
        return "0 rwlock calls seen: the program takes no pthread rwlock, or binds it past the preload"
    acquired = counts.reads + counts.writes
    few = _too_few(
        ("reads", counts.reads, check.min_reads),
        ("writes", counts.writes, check.min_writes),
        ("acquisitions", acquired, check.min_acquisitions),
    )
    return few or _too_few_for_work(
        check,
        output,
        ("reads", counts.reads, check.reads_per_operation),
        ("writes", counts.writes, check.writes_per_operation),
        ("acquisitions", acquired, check.acquisitions_per_operation),
    )


def _mutexes_failure(check: LockCheck, counts: Counts, output: Output) -> str | None:
    if counts.mutex_calls == 0:
        return "0 mutex calls seen: the program takes no pthread mutex, or binds it past the preload"
    acquired, handed = (counts.mutex_totals.get(key, 0) for key in ("acquisitions", "to_glibc"))
    if not acquired and handed:
        return (
            f"none of {handed} mutex calls was for a mutex that can be swapped: robust, priority-inheriting, "
            "priority-protected and process-shared ones stay glibc's"
        )
    what = "mutex acquisitions"
    return _too_few((what, acquired, check.min_mutex_acquisitions)) or _too_few_for_work(
        check, output, (what, acquired, check.mutex_acquisitions_per_operation)
    )


def _too_few(*wanted: tuple[str, int, int]) -> str | None:
    for what, have, want in wanted:
        if have < want:
            return f"{have} {what} counted with this lock, at least {want} expected"
    return None


def _too_few_for_work(check: LockCheck, output: Output, *wanted: tuple[str, int, float | None]) -> str | None:
    if check.operations is None:
        return None
    operations = operations_of(check, output)
    if not operations:
        return f"the program's operations are not in its output: nothing matches /{check.operations}/"
    for what, have, share in wanted:
        if share is not None and have < share * operations:
            return f"{have} {what} for {operations:.0f} operations; at least {share:g} for each expected"
    return None


def operations_of(check: LockCheck, output: Output) -> float | None:
    if check.operations is None:
        return None
    matches = re.finditer(check.operations, output.of("both"), re.MULTILINE)
    try:
        return sum(number(match[1]) for match in matches) or None
    except ValueError:
        return None
