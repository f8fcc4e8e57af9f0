"""`lockswap compare`: from the command line to a campaign, and on to its report."""

import os
import re
import shlex
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lockswap.base.choice import RANGE, Choice
from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.text import as_word, words
from lockswap.campaign import execution, figure_jobs, many, offer, probe, scan
from lockswap.campaign.jobs import Choices, plan_jobs
from lockswap.campaign.plan import Plan
from lockswap.campaign.request import Request
from lockswap.campaign.time_estimate import TimeEstimate
from lockswap.cluster.connection import NoCluster
from lockswap.findings import gate, reading
from lockswap.findings.advice import NO_PERF
from lockswap.findings.findings import Findings
from lockswap.policy import arms
from lockswap.recipes.reader import ALL
from lockswap.records.folder import SCHEMA, Folder
from lockswap.records.scrub import scrub
from lockswap.records.status import OK
from lockswap.report import console, terminal
from lockswap.run import extra_preload, machine, perf, preload_order, sanitizer, traces
from lockswap.run.preload import clean_environment, ld_preload
from lockswap.run.setup import Setup, check_tools

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# What --until may cost when --budget does not say.
BUDGET_MIN = 30.0


def run(request: Request, with_report: bool = True, verbose: bool = False) -> int:
    """Start a campaign; the exit status, as the help of `compare` has it."""
    paths = Paths.find()
    if offer.is_wanted(request):
        return _offer(paths, request)
    many.check(request)
    now = datetime.now(UTC)
    if request.name is not None and not _NAME.fullmatch(request.name):
        raise UserError(f"--name '{request.name}': use letters, digits, '.', '-' and '_'")
    name = request.name or (request.out.resolve().name if request.out else now.strftime("%Y-%m-%d-%H%M%S"))
    results = paths.own_results if request.command or request.server else paths.results
    folder = Folder(request.out or results / name)
    request = replace(request, seed=request.seed if request.seed is not None else time.time_ns() % 1_000_000)
    plan = _plan(paths, request, folder, {"name": name, "started": now.isoformat(timespec="seconds")})
    _end_like_an_interrupt()
    folder.create()
    plan.write_about(False, [])  # what --resume needs
    try:
        if not request.scheduler:
            _look_first(plan, request)
        return _execute(plan, request, with_report, verbose)
    except NoCluster:
        folder.remove_unbegun()
        raise
    except KeyboardInterrupt:
        return _interrupted(plan)


def _offer(paths: Paths, request: Request) -> int:
    choices = Choices.of(Registry.load(paths), request, arms.resolve(paths, request.policies))
    campaigns = [(one, plan_jobs(paths, one, choices)[0]) for one in offer.offered(request)]
    first, *rest = offer.lines(*campaigns, _command_line())
    print(f"lockswap: {first}", *rest, sep="\n", file=sys.stderr)
    return 2


def resume(path: Path, with_report: bool = True, verbose: bool = False, scheduler: str | None = None) -> int:
    """Make the runs that an interrupted campaign lacks: same plan, same seed. A cluster may be another one."""
    folder = Folder(path)
    about = folder.campaign()
    if about["finished"]:
        raise UserError(f"the campaign in {path} is finished; 'lockswap report {as_word(path)}' shows its report")
    if about["schema"] < SCHEMA:
        raise UserError(
            f"the campaign in {path} was started by an older lockswap, without a second run of 'none'; start a new one"
        )
    request = Request.from_stored(about["request"])
    many.check_resumed(path, about, scheduler)
    request = replace(request, scheduler=scheduler)
    kept = {key: about[key] for key in ("name", "started", "command_line", many.PART) if key in about}
    plan = _plan(Paths.find(), request, folder, kept)
    if wanted := about.get(many.PART):  # a worker has some of the workloads
        plan.jobs = [job for job in plan.jobs if job.recipe.name in wanted]
    if plan.locks != about["locks"]:
        raise UserError(
            f"the campaign in {path} compares {words(about['locks'])}; this lockswap would go on with "
            f"{words(plan.locks)}. 'lockswap report {as_word(path)}' shows what is there; start a new campaign for the "
            "rest"
        )
    if plan.about.get("policies") != about.get("policies"):
        raise UserError(f"the campaign in {path} measured other rules than its policy files have now; start a new one")
    _end_like_an_interrupt()
    try:
        if not folder.rows() and not request.scheduler:  # perhaps it was interrupted while its command was looked at
            _look_first(plan, request)
        return _execute(plan, request, with_report, verbose)
    except KeyboardInterrupt:
        return _interrupted(plan)


def _look_first(plan: Plan, request: Request) -> None:
    _probe(plan, request)
    paths = plan.setup.paths
    programs = [program for job in plan.jobs for program in job.recipe.programs(paths.apps)]
    plan.folder.write_env(machine.environment(paths, Registry.load(paths).version, plan.setup.events, programs))


def _interrupted(plan: Plan) -> int:
    """Before the runs, or while the report is made; `_execute` has a word for the runs themselves."""
    if plan.folder.campaign()["finished"]:
        done = f"all runs are made, and 'lockswap report {as_word(console.short(plan.folder.path))}' makes the report"
    else:
        done = f"'lockswap compare --resume {_resumed(plan)}' continues"
    print(f"lockswap: interrupted; {done}", file=sys.stderr)
    return 130


def _warn_of_preloads(paths: Paths, request: Request, preload: list[str], first: list[str]) -> list[str]:
    """Say on stderr what may disturb the library; returns what the report says of it."""
    hints = []
    ordered = ld_preload(paths.library, os.environ.get("LD_PRELOAD", ""), preload, first)
    sanitized = sanitizer.warnings(request.command or request.server)
    for warning in [*preload_order.warnings(ordered, paths.library), *sanitized]:
        hints.append(f"{scrub(warning)}.")
        print(f"lockswap: warning: {warning}", file=sys.stderr)
    if preload or first:
        files = words(scrub(path) for path in [*first, *preload])
        hints.append(f"Every run, those without lockswap too, had {files} preloaded.")
    return hints


def _plan(paths: Paths, request: Request, folder: Folder, about: dict[str, Any]) -> Plan:
    registry = Registry.load(paths)
    policies = arms.resolve(paths, request.policies)
    choices = Choices.of(registry, request, policies)
    wait = registry.wait(request.wait) if request.wait else None
    numactl = _split(request.numactl)
    events = perf.usable_events()
    preload = extra_preload.resolve(request.preload)
    first = extra_preload.first(request.preload_first)
    setup = Setup(
        paths, events, wait, request.pin, tuple(numactl), request.timeout, tuple(preload), tuple(first), policies
    )
    check_tools(setup)
    if request.figure:
        jobs, about["figure"] = figure_jobs.plan(paths, request)
        hints: list[str] = []
        request = replace(request, threads=list(jobs[0].threads))  # those of this machine, for --resume
    else:
        jobs, hints = plan_jobs(paths, request, choices)
    if request.quick and not request.figure and offer.is_wanted(replace(request, quick=False)):
        whole, _ = plan_jobs(paths, replace(request, workloads=[ALL]), choices)
        hints.append(offer.left_out(jobs, whole))
    scan.refuse_wrong_values(setup, dict.fromkeys(lock for job in jobs for lock in job.locks))
    hints += _warn_of_preloads(paths, request, preload, first)
    kinds, problems = traces.usable() if request.perf_record else ((), [])
    hints += problems
    for problem in problems:
        print(f"lockswap: note: {problem}", file=sys.stderr)
    asked = [str(file) for file in policies.values()]  # --resume may stand in another folder
    about = {"command_line": _command_line(), **about}
    if policies:
        about["policies"] = arms.texts(policies)
    if request.scheduler:
        about[many.ON_CLUSTER] = True
    about |= {
        "wait": wait or "park",
        "quick": request.quick,
        "pin": request.pin or "",
        "numactl": request.numactl,
        "preload": [scrub(path) for path in [*first, *preload]],
        "request": replace(request, preload=preload, preload_first=first, policies=asked).stored(),
        "settings": _settings(),
        "hints": hints,
        "against": jobs[0].against,
        "per_cpu": request.per_cpu,
    }
    budget = request.budget or (BUDGET_MIN if request.until else None)
    if budget:
        about["budget_min"] = budget
    return Plan(
        folder,
        setup,
        jobs,
        request.rounds,
        request.seed,
        about,
        until=request.until,
        budget_s=budget and budget * 60,
        traces=kinds,
        warmup=request.warmup or 0,
    )


def _probe(plan: Plan, request: Request) -> None:
    """See what the user's own command takes: say it, and where nothing is named compare that."""
    job = plan.jobs[0]
    if not job.user_command or RANGE in job.recipe.takes or not any(Choice.of(lock).variables for lock in job.locks):
        return
    found = probe.run(plan.setup, job, plan.cwd)
    if found.lacks_metric:
        plan.folder.remove_unbegun()
        raise UserError(f"--metric: {found.outcome.detail}; it printed {found.printed()}")
    plan.probe = found.outcome
    named = bool(request.locks or request.mutexes or request.conds or request.policies)
    if not named and found.only_mutexes():
        registry = Registry.load(plan.setup.paths)
        choices = Choices.of(registry, replace(request, mutexes=registry.default_mutexes), {})
        plan.jobs = [choices.with_locks(job) for job in plan.jobs]
        # --resume shall find what was chosen.
        plan.about["request"] = {**plan.about["request"], "mutexes": registry.default_mutexes}
        plan.about["against"] = plan.jobs[0].against
    locks = plan.jobs[0].locks
    if said := found.says(job.recipe.family or job.recipe.name, locks, named):
        print(f"lockswap: {said}", file=sys.stderr)
        if found.advises(locks):
            plan.about["hints"].append(f"{said}.")


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
        "LOCKSWAP_COND",
        "LOCKSWAP_RANGE",
        "LOCKSWAP_WAIT",
        "LOCKSWAP_STATS",
        "LOCKSWAP_VERBOSE",
    )
    env = clean_environment(os.environ)
    return {key: env[key] for key in sorted(env) if key.startswith("LOCKSWAP_") and key not in chosen}


def _command_line() -> str:
    """Without what belongs to this user or to a machine."""
    words = [scrub(word) for word in sys.argv[1:]]
    return "lockswap " + shlex.join(many.without_address(words))


def _report(findings: Findings) -> Path:
    from lockswap.report import writer  # matplotlib is slow to load, and not wanted before

    return writer.write(findings)


def _execute(plan: Plan, request: Request, with_report: bool, verbose: bool) -> int:
    print(f"lockswap: {_plan_line(plan, request)}", file=sys.stderr)
    resumed = _resumed(plan)
    print(
        f"lockswap: results go to {console.short(plan.folder.path)}; Ctrl-C keeps what is measured, and "
        f"'lockswap compare --resume {resumed}' continues",
        file=sys.stderr,
    )
    if plan.setup.events is None and not request.scheduler:
        print(f"lockswap: note: {NO_PERF}", file=sys.stderr)
    with terminal.Live() as live:
        if request.scheduler:
            finished = many.carry_out(plan, live, request.scheduler, request.each_machine)
        else:
            finished = execution.carry_out(plan, live)
    if not finished:
        print(
            "lockswap: interrupted; what was measured is kept, and "
            f"'lockswap compare --resume {resumed}' measures the rest",
            file=sys.stderr,
        )
    rows = plan.folder.rows()
    if not rows:
        print("lockswap: no run was made, so there is no report", file=sys.stderr)
        return 130
    findings = reading.read(plan.folder.path)
    terminal.show(findings, _report(findings) if with_report else None, request.markdown, verbose)
    if not finished:
        return 130
    if request.fail_below:
        gated = gate.check(findings.campaign, request.fail_below)
        for line in gated.lines():
            print(f"lockswap: {line}", file=sys.stderr)
        (plan.folder.path / "gate.xml").write_text(gated.as_junit(), encoding="utf-8")
        return gated.status
    if "figure" in plan.about:
        return 0 if any(row.status == OK for row in rows) else gate.NOT_MEASURED
    if why := gate.nothing_measured(findings.campaign):
        print(f"lockswap: no lock was compared: {why}", file=sys.stderr)
        return gate.NOT_MEASURED
    return 0


def _resumed(plan: Plan) -> str:
    """What --resume needs to go on with it."""
    where = as_word(console.short(plan.folder.path))
    return f"{where} {many.RESUMED}" if many.ON_CLUSTER in plan.about else where


def _end_like_an_interrupt() -> None:
    """A terminated harness ends like an interrupted one: the program under test does not stay behind."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def _plan_line(plan: Plan, request: Request) -> str:
    """What is going to be done, and how long it takes. On a cluster: the whole of it, on one machine."""
    earlier = [] if request.scheduler else plan.folder.rows()
    runs = plan.rounds(earlier).left()
    guess = TimeEstimate(plan.jobs).left(runs, [job.recipe for job in plan.jobs for _ in job.locks])
    if plan.budget_s and guess is not None:
        guess = min(guess, plan.budget_s)
    at_least = ""
    if plan.until:
        at_least = (
            f" at least; then until every interval is within {100 * plan.until:g} %, "
            f"or {plan.budget_s / 60:g} minutes are spent"
        )
    return terminal.plan_line(len(plan.jobs), plan.locks, sum(runs.values()), bool(earlier), guess) + at_least
