"""`lockswap compare`: from the command line to a campaign, and on to its report."""

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockswap import beside, gate, machine, perf, recipes, terminal, traces
from lockswap.campaign import Campaign, Job
from lockswap.choice import MUTEX, RWLOCK, Choice, baseline, kinds_of, parse, product, range_labels, with_baselines
from lockswap.errors import UserError
from lockswap.findings import Findings
from lockswap.own import few, own_job
from lockswap.paths import Paths
from lockswap.preload import clean_environment
from lockswap.recipes import Recipe
from lockswap.registry import PTHREAD, Registry
from lockswap.runner import OK, Setup, check_tools
from lockswap.stats import MIN_PAIRS
from lockswap.store import SCHEMA, Folder, scrub
from lockswap.text import words

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# What is compared when nothing is named, beside glibc's: the locks of the BRAVO paper, and what a mutex can have of
# each.
DEFAULT_LOCKS = ("ba", "bravo-ba", "cohort", "per-cpu", "rlu")
DEFAULT_MUTEXES = DEFAULT_LOCKS
QUICK_REPEATS = MIN_PAIRS
# What --until may cost when --budget does not say.
BUDGET_MIN = 30.0


@dataclass(frozen=True)
class Request:
    """What the command line said; None where it said nothing."""

    workloads: list[str]
    locks: list[str]
    mutexes: list[str]
    ranges: list[str]
    wait: str | None
    threads: list[int] | None
    repeats: int | None
    seconds: int | None
    timeout: float | None
    pin: str | None
    numactl: str
    preload: list[str]
    out: Path | None
    name: str | None
    quick: bool
    seed: int | None
    command: list[str]
    metrics: list[str]
    better: str
    until: float | None
    budget: float | None
    against: str | None
    fail_below: float | None
    per_cpu: bool
    server: list[str]
    ready: str | None
    ready_timeout: float | None
    load: list[str]
    stop: str | None
    stop_timeout: float | None
    prepare: list[list[str]]
    cleanup: list[list[str]]
    perf_record: bool

    def stored(self) -> dict[str, Any]:
        """For campaign.toml, so that --resume asks for the same."""
        fields = vars(self) | {"out": None, "name": None}
        fields |= {key: _each_word(scrub, fields[key]) for key in _WORDS}
        return {key: value for key, value in fields.items() if value not in (None, [], "")}

    @classmethod
    def from_stored(cls, fields: dict[str, Any]) -> "Request":
        empty: dict[str, Any] = dict.fromkeys(cls.__dataclass_fields__)
        empty |= {"numactl": "", "quick": False, "better": "higher", "per_cpu": False, "perf_record": False}
        empty |= {key: [] for key in ("workloads", "locks", "mutexes", "ranges", "metrics", *_WORDS)}
        known = {key: value for key, value in fields.items() if key in empty}
        known |= {key: _each_word(_at_home, known.get(key, [])) for key in _WORDS}
        return cls(**(empty | known))


# Fields with words of commands, in which the user's home folder is not written down.
_WORDS = ("command", "preload", "server", "load", "prepare", "cleanup")


def _each_word(change: Callable[[str], str], words: list) -> list:
    return [change(word) if isinstance(word, str) else _each_word(change, word) for word in words]


def _at_home(word: str) -> str:
    return str(Path(word).expanduser()) if word.startswith("~") else word


def run(request: Request, with_report: bool = True) -> int:
    """Start a campaign; the exit status: 0, 1 if no run was good, 130 if interrupted."""
    paths = Paths.find()
    now = datetime.now(UTC)
    if request.name is not None and not _NAME.fullmatch(request.name):
        raise UserError(f"--name '{request.name}': use letters, digits, '.', '-' and '_'")
    name = request.name or (request.out.resolve().name if request.out else now.strftime("%Y-%m-%d-%H%M%S"))
    folder = Folder(request.out or paths.results / name)
    request = replace(request, seed=request.seed if request.seed is not None else time.time_ns() % 1_000_000)
    campaign = _campaign(paths, request, folder, {"name": name, "started": now.isoformat(timespec="seconds")})
    folder.create()
    folder.write_env(machine.environment(paths, Registry.load(paths), campaign.setup.events))
    return _execute(campaign, with_report, request.fail_below)


def resume(path: Path, with_report: bool = True) -> int:
    """Make the runs that an interrupted campaign lacks: same plan, same seed."""
    folder = Folder(path)
    about = folder.campaign()
    if about["finished"]:
        raise UserError(f"the campaign in {path} is finished; 'lockswap report {path}' makes its report")
    if about["schema"] < SCHEMA:
        raise UserError(
            f"the campaign in {path} was begun by an older lockswap, without the second run of 'none'; start anew"
        )
    request = Request.from_stored(about["request"])
    kept = {key: about[key] for key in ("name", "started", "command_line")}
    return _execute(_campaign(Paths.find(), request, folder, kept), with_report, request.fail_below)


def _campaign(paths: Paths, request: Request, folder: Folder, about: dict[str, Any]) -> Campaign:
    registry = Registry.load(paths)
    choices = _Choices.of(registry, request)
    wait = registry.wait(request.wait) if request.wait else None
    numactl = _split(request.numactl)
    events = perf.usable_events()
    preload = beside.resolve(request.preload)
    setup = Setup(paths, events, wait, request.pin, tuple(numactl), request.timeout, tuple(preload))
    check_tools(setup)
    jobs, hints = _jobs(paths, request, choices)
    if preload:
        files = words(scrub(path) for path in preload)
        hints.append(f"Every run, those without lockswap too, had {files} preloaded.")
    kinds, problems = traces.usable() if request.perf_record else ((), [])
    hints += problems
    for problem in problems:
        print(f"lockswap: note: {problem}", file=sys.stderr)
    repeats = request.repeats or (QUICK_REPEATS if request.quick else 7)
    about = {"command_line": _command_line(), **about}
    about |= {
        "wait": wait or "park",
        "quick": request.quick,
        "pin": request.pin or "",
        "numactl": request.numactl,
        "preload": [scrub(path) for path in preload],
        "request": replace(request, preload=preload).stored(),
        "settings": _settings(),
        "hints": hints,
        "against": jobs[0].against,
        "per_cpu": request.per_cpu,
    }
    budget = request.budget or (BUDGET_MIN if request.until else None)
    if budget:
        about["budget_min"] = budget
    return Campaign(
        folder,
        setup,
        jobs,
        repeats,
        request.seed,
        about,
        until=request.until,
        budget_s=budget and budget * 60,
        traces=kinds,
    )


@dataclass(frozen=True)
class _Choices:
    """What is compared: what was named, or else by what a workload takes. All are labels."""

    named: list[str] | None  # None: nothing was
    rwlocks: list[str]
    mutexes: list[str]
    against: Choice | None

    @classmethod
    def of(cls, registry: Registry, request: Request) -> "_Choices":
        rwlocks = [name for name in DEFAULT_LOCKS if name in {lock.name for lock in registry.rwlocks}]
        mutexes = [name for name in DEFAULT_MUTEXES if name in {lock.name for lock in registry.mutexes}]
        against = parse(registry, request.against) if request.against else None
        if not request.locks and not request.mutexes and not request.ranges:
            return cls(None, product(registry, rwlocks, []), product(registry, [], mutexes), against)
        named = product(registry, request.locks, request.mutexes) if request.locks or request.mutexes else []
        return cls([*named, *range_labels(registry, request.ranges)], [], [], against)

    @property
    def kinds(self) -> frozenset[str]:
        """Kinds of locks that the campaign is about."""
        return kinds_of(self.named or []) or frozenset((RWLOCK, MUTEX))

    def given_to(self, job: Job) -> Job:
        takes = job.recipe.takes
        labels, against = self.named, self.against
        if labels is None:
            labels = self.mutexes if takes[0] == MUTEX else self.rwlocks
            if against and against.kinds and not against.kinds & set(takes):
                against = None
        if against and against.label == PTHREAD:
            against = None  # whatever glibc's own is called here
        locks = with_baselines(labels, against and against.label)
        return replace(job, locks=tuple(locks), against=against.label if against else baseline(locks))


def _jobs(paths: Paths, request: Request, choices: _Choices) -> tuple[list[Job], list[str]]:
    own = own_job(request)
    if own:
        jobs, hints = own
        return [choices.given_to(job) for job in jobs], hints
    chosen = recipes.choose(recipes.load_all(paths.recipes), request.workloads, request.quick, choices.kinds)
    if not chosen:
        raise UserError("there is no workload to run: apps/recipes has none, and no command follows '--'")
    return [choices.given_to(_job(recipe, request)) for recipe in chosen], []


def _job(recipe: Recipe, request: Request) -> Job:
    threads = tuple(request.threads or recipe.threads)
    if request.quick and not request.threads:
        threads = few(threads)
    seconds = request.seconds or (max(1, recipe.seconds // 2) if request.quick else recipe.seconds)
    params = {**recipe.params, **(recipe.quick_params if request.quick else {})}
    return Job(recipe, threads, seconds, params)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UserError(f"--numactl '{text}': {error}") from None


def _settings() -> dict[str, str]:
    """What the user's environment says to the library, such as LOCKSWAP_SPIN: it belongs to the record."""
    chosen = (
        "LOCKSWAP_RWLOCK",
        "LOCKSWAP_MUTEX",
        "LOCKSWAP_RANGE",
        "LOCKSWAP_WAIT",
        "LOCKSWAP_STATS",
        "LOCKSWAP_VERBOSE",
    )
    env = clean_environment(os.environ)
    return {key: env[key] for key in sorted(env) if key.startswith("LOCKSWAP_") and key not in chosen}


def _command_line() -> str:
    return "lockswap " + shlex.join(scrub(word) for word in sys.argv[1:])


def _report(findings: Findings) -> Path:
    from lockswap import report  # matplotlib is slow to load, and not wanted before

    return report.make(findings)


def _execute(campaign: Campaign, with_report: bool, fail_below: float | None = None) -> int:
    print(f"lockswap: {_plan_line(campaign)}", file=sys.stderr)
    if campaign.setup.events is None:
        print(f"lockswap: note: {perf.ADVICE}", file=sys.stderr)
    # A terminated harness ends like an interrupted one: the program under test does not stay behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with terminal.Live() as live:
        finished = campaign.run(live)
    if not finished:
        print(
            "lockswap: interrupted; what was measured is kept, and "
            f"'lockswap compare --resume {campaign.folder.path}' makes the rest",
            file=sys.stderr,
        )
    rows = campaign.folder.rows()
    if not rows:
        print("lockswap: no run was made, so there is no report", file=sys.stderr)
        return 130
    findings = Findings.read(campaign.folder.path)
    terminal.show(findings, _report(findings) if with_report else None)
    if not finished:
        return 130
    if not any(row.status == OK for row in rows):
        return 1
    return _gate(findings, fail_below) if fail_below else 0


def _gate(findings: Findings, limit: float) -> int:
    gated = gate.check(findings.campaign, limit)
    for line in gated.lines():
        print(f"lockswap: {line}", file=sys.stderr)
    return gate.FAILED if gated.violations else 0


def _plan_line(campaign: Campaign) -> str:
    """What is going to be done, and how long it takes."""
    seconds = {job.recipe.name: job.seconds + 0.6 for job in campaign.jobs}
    runs = campaign.rounds().left()
    guess = sum(seconds[name] * turns for (name, _), turns in runs.items())
    if campaign.budget_s:
        guess = min(guess, campaign.budget_s)
    at_least = ""
    if campaign.until:
        at_least = (
            f" at least; then until every interval is within {100 * campaign.until:g} %, "
            f"or {campaign.budget_s / 60:g} minutes are spent"
        )
    return terminal.plan_line(len(campaign.jobs), campaign.locks, sum(runs.values()), guess) + at_least
