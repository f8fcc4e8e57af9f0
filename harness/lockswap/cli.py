"""The command line. Heavy modules are imported inside the commands, so that `run` starts fast."""

from __future__ import annotations

from pathlib import Path as _Path

import click

from lockswap.base.duration import Duration
from lockswap.base.errors import FIND, UserError
from lockswap.base.version import VERSION
from lockswap.campaign import request
from lockswap.campaign.headings import HeadedCommand, HeadedGroup, HeadedOption
from lockswap.run.stats_option import StatsOption, WithStats

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PASS_ON = {"ignore_unknown_options": False, "allow_interspersed_args": False}


class _Pid(click.IntRange):
    """A process id. The error for anything else says how to find one, because people often give a name."""

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            raise UserError(f"'{value}' is no process's number; {FIND}") from None


PID = _Pid(1)

# Options and arguments of several commands.
_preload = click.option("--preload", multiple=True, metavar="LIB", help=f"{request.PRELOAD_HELP} Repeatable.")
_preload_first = click.option(
    "--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable."
)
_rwlock = click.option("--rwlock", "-l", metavar="LOCK", help="Run with this reader-writer lock. Default: glibc's.")
_mutex = click.option("--mutex", "-m", metavar="MUTEX", help="Run with this mutex. Default: glibc's.")
_metric = click.option(
    "--metric",
    metavar="REGEX",
    help="Judge a run by the number in its output that the parentheses in REGEX capture (the last match counts). "
    "Default: its time.",
)


def _lower(context: click.Context, _: click.Parameter, better: str) -> bool:
    return better == "lower" or context.meta.get("lower", False)


def _remember_lower(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.meta["lower"] = given


_better = click.option(
    "--better",
    "lower_is_better",
    type=click.Choice(["higher", "lower"]),
    default="higher",
    show_default=True,
    callback=_lower,
    help="Whether a higher or a lower --metric is better.",
)
_lower_is_better = click.option(  # what --better was
    "--lower-is-better",
    "is_lower",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_remember_lower,
    hidden=True,
)
_budget = click.option(
    "--budget",
    type=Duration("s", "1s", "24h"),
    default="2m",
    show_default=True,
    metavar="TIME",
    help="How long the experiment may take (such as 300s or 5m); it makes at least six rounds in any case.",
)
_command = click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")

# How `lockswap --help` lists the commands.
TASKS = {
    "Try other locks": ["run", "compare", "report", "export", "list"],
    "Find the lock that makes a program slow": ["profile", "top", "whatif", "advise", "policy"],
    "Find out why a program hangs, or might": ["why", "audit", "fuzz"],
    "Use it in production": ["doctor", "service", "off", "metrics"],
    "Research": ["paper", "predict", "machine", "record", "trace-vm"],
    "Set up a shell": ["completion"],
}


@click.group(cls=HeadedGroup, headings=TASKS, context_settings=SETTINGS)
@click.version_option(VERSION, prog_name="lockswap")
def cli() -> None:
    """Swap the pthread locks of unmodified programs for others, measure which are fastest, and find the lock that slows
    a program down or makes it hang.

    \b
    lockswap run --rwlock auto -- ./server       run with another lock
    lockswap compare -l auto,ba -- ./batch       measure locks on your program
    lockswap profile -- ./server                 see which locks threads wait for
    lockswap why 4711                            see who holds what in a program that hangs

    \b
    Exit status, unless a command says otherwise:
      0        success
      2        bad input, or a missing requirement; a line on stderr says what to do
      128 + N  ended by signal N, such as 130 after Ctrl-C
    """


@cli.command("list", short_help="List locks, mutexes, workloads and variables.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, for scripts.")
@click.argument("name", required=False, metavar="[NAME|ranges|workloads|variables|waits|structures|papers]")
def list_command(as_json: bool, name: str | None) -> None:
    """List all locks and mutexes, or show everything about one of them.

    \b
    lockswap list                all locks and mutexes, a line each
    lockswap list cohort         one lock, mutex, range lock, variable or workload
    lockswap list workloads      also: ranges, variables, waits, structures, papers
    """
    from lockswap.base.paths import Paths
    from lockswap.listing import show

    if as_json and name:
        raise UserError(f"--json prints everything: drop '{name}'")
    show(Paths.find(), name, as_json)


@cli.command("run", cls=WithStats, context_settings=PASS_ON, short_help="Run a program with another lock.")
@click.option("--rwlock", "-l", metavar="LOCK", help="Reader-writer lock; 'lockswap list' shows all. Default: glibc's.")
@click.option("--mutex", "-m", metavar="MUTEX", help="Mutex, with matching condition variables. Default: glibc's.")
@click.option(
    "--cond",
    metavar="own|pthread",
    help="Condition variables: 'own' (ours, even with glibc's mutexes) or 'pthread' (glibc's). Default: those that "
    "match the mutex.",
)
@click.option("--wait", metavar="HOW", help="How threads wait: spin, yield or park.  [default: park]")
@click.option(
    "--stats",
    cls=StatsOption,
    is_flag=False,
    flag_value="1",
    metavar="[FILE]",
    help="Count acquisitions and print them on stderr at the end, even after Ctrl-C. --stats=FILE writes JSON to "
    "FILE.<pid> instead.",
)
@click.option("--verbose", is_flag=True, help="Print on stderr which lock is used.")
@_preload
@_preload_first
@_command
def run_command(
    rwlock: str | None,
    mutex: str | None,
    cond: str | None,
    wait: str | None,
    stats: str | None,
    verbose: bool,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Run a program with another lock. The exit status is the program's own.

    \b
    lockswap run --rwlock bravo-ba -- ./server --port 8080
    lockswap run --mutex mcs -- ./prog              swap its mutexes
    lockswap run --rwlock ba --mutex mcs -- ./prog  swap both
    lockswap run --cond own -- ./prog               swap only its condition variables
    lockswap run --rwlock ba --stats -- ./prog      print counts at exit
    lockswap run --rwlock none -- ./prog            run it without lockswap
    lockswap run --rwlock pthread -- ./prog         run it with lockswap, but with glibc's lock
    """
    from lockswap.base.paths import Paths
    from lockswap.run.launch import run

    run(Paths.find(), list(command), rwlock, mutex, cond, wait, stats, verbose, preload, preload_first)


def _compared_by_default() -> dict[str, str]:
    """Defaults from the registry and the installation, to fill in the help of `compare`."""
    from lockswap.base.paths import Paths
    from lockswap.base.registry import Registry

    paths = Paths.find()
    found = {request.DEFAULT_FOLDER: paths.results_in_words}
    try:
        registry = Registry.load(paths)
    except UserError:  # nothing is built
        return found | dict.fromkeys(
            (request.DEFAULT_RWLOCKS, request.DEFAULT_MUTEXES), "a selection of what 'lockswap list' shows"
        )
    return found | {
        request.DEFAULT_RWLOCKS: ", ".join(registry.default_rwlocks),
        request.DEFAULT_MUTEXES: ", ".join(registry.default_mutexes),
    }


@cli.command(
    "compare",
    cls=HeadedCommand,
    words=_compared_by_default,
    context_settings=PASS_ON,
    short_help="Measure locks against each other and write a report.",
)
@request.with_options
@click.option(
    "--resume",
    cls=HeadedOption,
    heading=request.RECORDS,
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Continue an interrupted campaign.",
)
@click.option(
    "--report/--no-report",
    "with_report",
    cls=HeadedOption,
    heading=request.RECORDS,
    default=True,
    help="Whether to write the HTML page and plots; 'lockswap report DIR' can do it later.",
)
@click.option(
    "--verbose",
    cls=HeadedOption,
    heading=request.RECORDS,
    is_flag=True,
    help="Also print all tables, conclusions and warnings.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def compare_command(resume: _Path | None, with_report: bool, verbose: bool, **options: object) -> int:
    """Measure locks against each other, on a command or server of yours or on built-in workloads, and write a report.

    \b
    Your own program:
      lockswap compare -l auto,ba -- ./batch input
      lockswap compare -l bravo-ba --metric 'ops/s: ([0-9.]+)' -- ./prog --threads {threads} --seconds {seconds}
      lockswap compare -l ba --server './server -p {port} -t {threads}' --load './load localhost:{port}' --metric REGEX
    Built-in workloads ('lockswap list workloads'):
      lockswap compare --quick
      lockswap compare -w test-rwlock -l ba,bravo-ba -t 1,2,8
      lockswap compare -w kcutiltest-cond -m mcs,clh
      lockswap compare -w arrbench --range list-rw,kernel-rw --against range:rwlock
    A gate for CI:
      lockswap compare -w test-rwlock -l ba --until 5% --against pthread --fail-below 0.97

    The locks take turns (A B C, B C A, ...), so drift in the machine's speed affects all alike. A run that crashes,
    hangs, prints a wrong result or never takes the lock under test is reported as such. Ctrl-C keeps what was measured.

    \b
    Exit status:
      0    locks were compared; with --fail-below, none was shown to be worse than RATIO
      2    bad input, or nothing was named to run; nothing was run
      3    with --fail-below: a lock was shown to be worse, or its runs failed while the baseline's did not
      4    no lock could be compared, because no run succeeded or none took the lock;
           with --fail-below also if at least one lock could not be compared
      130  interrupted; --resume continues
    """
    from lockswap.campaign import compare

    if resume is not None:
        _nothing_beside_resume(options)
        scheduler = options["scheduler"]
        return compare.resume(resume, with_report, verbose, scheduler if isinstance(scheduler, str) else None)
    return compare.run(request.Request.from_command_line(options), with_report, verbose)


def _nothing_beside_resume(options: dict[str, object]) -> None:
    for parameter in _given():
        # A cluster's address may have changed.
        if parameter.name in options and parameter.name != "scheduler":
            what = parameter.opts[0] if isinstance(parameter, click.Option) else f"the {parameter.name}"
            raise UserError(f"--resume takes its settings from the campaign: drop {what}")


def _given() -> list[click.Parameter]:
    """The parameters given on the command line, in the order of the help."""
    context = click.get_current_context()
    return [
        parameter
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE
        # click before 8.2 says that of an argument without a word, too.
        and context.params.get(parameter.name, ()) not in ((), None)
    ]


def _for_papers() -> dict[str, str]:
    """The installation's results folder, to fill in the help of `paper`."""
    from lockswap.base.paths import Paths

    return {request.DEFAULT_FOLDER: Paths.find().workload_results_in_words}


_MODEL = "On a machine that you don't have"


def _model_figure(options: dict[str, object], machine: str, draws: int) -> int:
    from lockswap.base.paths import Paths
    from lockswap.predict import figure_page

    for one in _given():
        if one.name not in ("figure", "machine", "draws", "threads", "out"):
            raise UserError(f"{one.opts[0]} has no effect with --machine, which measures nothing: drop it")
    request_of = request.Request.from_command_line(options)
    return figure_page.run(
        Paths.find(),
        figure_page.Request(request_of.figure, machine, tuple(sorted(request_of.threads or ())), draws, request_of.out),
    )


@cli.command(
    "paper",
    cls=HeadedCommand,
    words=_for_papers,
    context_settings=SETTINGS,
    short_help="Measure a paper's figure here.",
)
@request.with_some_options(
    "quick", "threads", "repeats", "seconds", "until", "budget", "pin", "preload", "per_cpu", "name", "out"
)
@click.option(
    "--resume",
    cls=HeadedOption,
    heading=request.RECORDS,
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Continue an interrupted measurement.",
)
@click.option(
    "--machine",
    cls=HeadedOption,
    heading=_MODEL,
    metavar="NAME|FILE.toml",
    help="Measure nothing: plot what the model of 'lockswap predict' gives for that machine.",
)
@click.option(
    "--draws",
    cls=HeadedOption,
    heading=_MODEL,
    type=click.IntRange(2),
    default=24,
    show_default=True,
    metavar="N",
    help="Sample unknown machine parameters N times.",
)
@click.argument("figure", required=False, metavar="[FIGURE]")
def paper_command(resume: _Path | None, machine: str | None, draws: int, **options: object) -> int:
    """Measure a figure or table of a paper on this machine, and plot it with the paper's axes and lines. The HTML page
    also lists what the paper says about the figure, and whether that holds here: hit, miss, or can't tell here.

    \b
    lockswap list papers             all figures, a line each, and why some can't be measured
    lockswap paper bravo-3           measure one; the programs that it needs are built or fetched
    lockswap paper bravo-3 --quick   fewer points, shorter runs, 6 rounds
    lockswap paper bravo-5 --machine x5-2    model one, on a machine that you don't have

    Thread counts go beyond the number of processors; that part of the plot is grey. The results are a folder like that
    of 'lockswap compare', so 'lockswap report' and 'lockswap export' work with it.

    \b
    Exit status:
      0    the figure was measured, whether or not the paper's statements hold
      2    bad input, or a figure that can't be measured; nothing was run
      4    no run succeeded
      130  interrupted; --resume continues
    """
    from lockswap.campaign import compare

    if resume is not None:
        _nothing_beside_resume(options)
        return compare.resume(resume)
    if options["figure"] is None:
        raise UserError("name a figure: 'lockswap paper bravo-3'; 'lockswap list papers' shows all")
    if machine is not None:
        return _model_figure(options, machine, draws)
    if any(one.name == "draws" for one in _given()):
        raise UserError("--draws has no effect without --machine: drop it")
    return compare.run(request.Request.from_command_line(options))


@cli.command("report", context_settings=SETTINGS, short_help="Show a comparison or profile again, or compare several.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=_Path), metavar="DIR [DIR...]")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Write files to DIR. Default: the folder itself; for several campaigns, A-vs-B next to them; for two "
    "profiles, no files.",
)
@click.option("--silent", is_flag=True, help="Campaigns: print only where the report is.")
@click.option("--verbose", is_flag=True, help="One campaign: also print all tables, conclusions and warnings.")
@click.option("--markdown", is_flag=True, help="One campaign: print the tables and conclusions as Markdown.")
@click.option("--top", type=click.IntRange(1), metavar="N", help="Profiles: show the top N locks.  [default: 20]")
@click.option("--json", "as_json", is_flag=True, help="Two profiles: print the differences as JSON.")
def report_command(
    folders: tuple[_Path, ...],
    out: _Path | None,
    silent: bool,
    verbose: bool,
    markdown: bool,
    top: int | None,
    as_json: bool,
) -> int:
    """Show the results in a folder again, and write its HTML page and data files from what was recorded. With several
    folders, show what changed from the first to each of the others.

    \b
    lockswap report results/2026-11-seven-locks    a campaign of 'lockswap compare'
    lockswap report results/before results/after   two campaigns: how the ratios changed
    lockswap report hot                            what 'lockswap profile -o' or LOCKSWAP_PROFILE recorded
    lockswap report hot better                     two profiles: which locks got better or worse
    """
    from lockswap.profile import recording

    if any(recording.is_profile(one) for one in folders):
        for option, is_given in (("--silent", silent), ("--verbose", verbose), ("--markdown", markdown)):
            if is_given:
                raise UserError(f"{option} is for campaigns; a profile takes --top and -o")
        return _report_profiles(folders, out, top, as_json)
    if top is not None or as_json:
        raise UserError(f"{'--json' if as_json else '--top'} is for profiles, and {folders[0]} is not one")
    if len(folders) > 1:
        if markdown:
            raise UserError("--markdown prints one campaign; name one folder")
        _side_by_side(list(folders), out, silent)
        return 0
    from lockswap.findings import reading
    from lockswap.report import terminal, writer

    findings = reading.read(folders[0])
    page = writer.write(findings, out)
    if silent:
        print(page)
    else:
        terminal.show(findings, page, markdown, verbose)
    return 0


def _report_profiles(folders: tuple[_Path, ...], out: _Path | None, top: int | None, as_json: bool) -> int:
    from lockswap.base.paths import Paths
    from lockswap.profile import profile

    if len(folders) > 2:
        raise UserError("profiles are compared two at a time; name two folders")
    if len(folders) == 2:
        return profile.compare(Paths.find(), *folders, top or 20, out, as_json)
    if as_json:
        raise UserError("--json prints the differences of two profiles; for one profile read its profile.json")
    return profile.read(Paths.find(), folders[0], top or 20, out)


def _side_by_side(folders: list[_Path], out: _Path | None, silent: bool) -> None:
    from lockswap.side_by_side import campaigns, page, terminal

    found = campaigns.read(folders)
    file = page.write(found, out or page.default_folder(found))
    if silent:
        print(file)
    else:
        terminal.show(found, file)


@cli.command(
    "export",
    context_settings=SETTINGS,
    short_help="Export a comparison's figures, plots and versions for a paper.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Write to DIR. Default: NAME-export here, with the campaign's name.",
)
@click.option("--to", type=click.Path(path_type=_Path), hidden=True)  # what --out was
@click.argument("campaign", type=click.Path(path_type=_Path), metavar="CAMPAIGN")
def export_command(out: _Path | None, to: _Path | None, campaign: _Path) -> int:
    """Write what a paper needs from a campaign, which is the folder that 'lockswap compare' wrote: all figures as CSV
    and Parquet, plots as PDF and SVG, the exact versions, a Containerfile that runs the same comparison again, and a
    CITATION.cff for lockswap and the papers of the locks.

    \b
    lockswap export lockswap-results/2026-11-29-101500
    lockswap export results/2026-11-locktorture --out artifact

    Parquet needs the Python package arro3-io. Without it only CSV is written, and a line says how to install it.
    """
    from lockswap.base.paths import Paths
    from lockswap.paper import export

    return export.run(Paths.find(), campaign, out or to)


@cli.command("audit", context_settings=PASS_ON, short_help="Check how a program uses its locks: is a swap safe?")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    metavar="FILE",
    help="Write the report to FILE. Default: stderr, after the program's own output.",
)
@click.option(
    "--fail-on-findings",
    is_flag=True,
    help="A gate for CI: exit with 3 if there are findings to look at or nothing could be judged, unless the program "
    "failed.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=_Path),
    metavar="FILE",
    help="Also write the findings to FILE as JUnit XML, for CI systems.",
)
@_preload
@_preload_first
@_command
def audit_command(
    as_json: bool,
    out: _Path | None,
    fail_on_findings: bool,
    junit: _Path | None,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a program on glibc's own locks, and say what matters before you swap them. The report has a verdict on each
    of rwlocks, mutexes and condition variables, and ends with "safe" or with what to look at. It also finds deadlocks
    before they happen: locks that threads take in orders that form a cycle, with the stacks of each thread. The exit
    status is the program's own.

    \b
    lockswap audit -- ./server --port 8080
    lockswap audit --json --out audit.json -- ./prog
    lockswap audit --fail-on-findings -- make check

    It follows all processes that the program starts, except static, setuid and 32-bit ones.
    """
    from lockswap.audit import audit
    from lockswap.base.paths import Paths

    return audit.run(Paths.find(), list(command), as_json, out, fail_on_findings, preload, preload_first, junit)


@cli.command("fuzz", context_settings=PASS_ON, short_help="Provoke races by delaying threads at lock calls.")
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="The first run's seed. Default: a random one."
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=100,
    metavar="K",
    help="Number of runs, each with the next seed.  [default: 100]",
)
@click.option(
    "--again",
    type=click.IntRange(0),
    default=10,
    metavar="M",
    help="How often to run a failing seed again.  [default: 10]",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="A run that takes longer is a hang. Default: a run hangs if it makes no progress, or if it takes at least "
    "300 s and at least 20 times as long as a run without delays.",
)
@click.option("--same-output", is_flag=True, help="Also fail if stdout or status differ from those without delays.")
@click.option("--spurious", is_flag=True, help="Make waits for condition variables return spuriously.")
@click.option(
    "--percent",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Percentage of the points around lock calls at which to perturb threads. Default: chosen from the seed.",
)
@click.option(
    "--delay",
    type=click.IntRange(1, 1_000_000),
    metavar="US",
    help="The longest delay in microseconds.  [default: 4000]",
)
@click.option(
    "--serial",
    is_flag=True,
    help="Instead of delays, run one thread at a time, in an order that the seed chooses and repeats.",
)
@click.option(
    "--budget",
    type=Duration("ms", "1ms", "1000s"),
    metavar="TIME",
    help="Delay a thread less and less often once its delays have cost TIME (such as 500ms).  [default: 300ms]",
)
@_rwlock
@_mutex
@_preload
@_preload_first
@click.option("--json", "as_json", is_flag=True, help="Report as JSON, on stdout.")
@_command
def fuzz_command(delay: int | None, budget: float | None, command: tuple[str, ...], **options: object) -> int:
    """Run a program again and again, delaying its threads at lock calls in a different way each time, and stop at the
    first crash, hang or sanitizer report. The exit status is 3 if a run fails, and 0 if none does.

    \b
    lockswap fuzz -- ./prog
    lockswap fuzz --same-output --runs 500 -- ./prog    a changed output is a failure, too
    lockswap fuzz --seed 17 --runs 1 -- ./prog          repeat a seed
    lockswap fuzz --serial -- ./prog                    run one thread at a time, and show the failing order

    A seed repeats the delays of each thread, but not the scheduler's choices unless you add --serial.
    """
    from lockswap.base.paths import Paths
    from lockswap.fuzz import fuzz

    budget_ms = None if budget is None else round(budget)
    return fuzz.run(Paths.find(), fuzz.Request(command=list(command), delay_us=delay, budget_ms=budget_ms, **options))


@cli.command("profile", context_settings=PASS_ON, short_help="Find the locks that threads wait for.")
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Show the top N locks.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Write profile.html, profile.json, stacks for pprof and speedscope, and a trace for Perfetto to DIR.",
)
@click.option("--pid", type=PID, metavar="PID", help="Profile a running process instead of a command.")
@click.option("--seconds", type=click.FloatRange(0.1), metavar="S", help="With --pid: for S seconds.  [default: 10]")
@_rwlock
@_mutex
@_preload_first
@click.option("--from", "folder", type=click.Path(path_type=_Path), hidden=True)
@click.option("--diff", "both", nargs=2, type=click.Path(path_type=_Path), hidden=True)
@click.option("--json", "as_json", is_flag=True, hidden=True)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def profile_command(
    top: int,
    out: _Path | None,
    pid: int | None,
    seconds: float | None,
    rwlock: str | None,
    mutex: str | None,
    preload_first: tuple[str, ...],
    folder: _Path | None,
    both: tuple[_Path, _Path] | None,
    as_json: bool,
    command: tuple[str, ...],
) -> int:
    """Run a program and show which of its locks make it slow: where threads waited for a lock, for how long, and where
    the thread that kept them waiting released it. The locks are glibc's own unless an option or the environment says
    otherwise. The exit status is the program's own.

    \b
    lockswap profile -- ./server --port 8080
    lockswap profile --top 5 -o hot -- ./prog       also write an HTML page to hot/
    lockswap profile --pid 4711 --seconds 10        a process that is running

    To profile without this command, start the program with LD_PRELOAD=liblockswap.so and LOCKSWAP_PROFILE=hot. Then
    'lockswap report hot' shows what was recorded, and 'lockswap report before after' compares two profiles.
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import profile, sampled_report
    from lockswap.profile.attach import WithoutLockswapError

    if both or folder is not None:  # until 0.3
        if command or pid is not None or seconds is not None or rwlock or mutex or preload_first:
            raise UserError("to show profiles, use 'lockswap report DIR' or 'lockswap report BEFORE AFTER' alone")
        names = both or (folder,)
        old, new = "--diff BEFORE AFTER" if both else "--from DIR", "BEFORE AFTER" if both else "DIR"
        click.echo(f"lockswap: note: 'profile {old}' is now 'lockswap report {new}', and will go in 0.3", err=True)
        return _report_profiles(names, out, top, as_json)
    if as_json:
        raise UserError("-o DIR writes the profile as profile.json")
    if pid is not None:
        if command or rwlock or mutex or preload_first:
            raise UserError("--pid profiles a running process, and takes no options but --seconds, --top and -o")
        try:
            return profile.watch(Paths.find(), pid, seconds or 10.0, top, out)
        except WithoutLockswapError:
            return sampled_report.watch(pid, seconds or 10.0, top, out)
    if seconds is not None:
        raise UserError("--seconds needs --pid; a command is profiled from start to end")
    if not command:
        raise UserError("give the command to run after '--', or a running process with --pid")
    return profile.run(Paths.find(), list(command), top, out, rwlock, mutex, preload_first)


@cli.command("why", context_settings=SETTINGS, short_help="Show which thread holds the lock that others wait for.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--current", "with_current", is_flag=True, help="Also show where threads are now. This uses gdb, which stops them."
)
@click.argument("pid", type=PID, metavar="PID")
def why_command(as_json: bool, with_current: bool, pid: int) -> int:
    """Show why a program hangs: which thread holds which lock, which threads wait for it, since when and where, and
    whether they wait for each other in a cycle.

    \b
    lockswap why 4711
    lockswap why $(pidof server)

    It doesn't stop a program that was started with `lockswap profile` or LOCKSWAP_PROFILE, and works even if the
    program no longer responds. For any other program the locks are read from its memory: you must be its user or root,
    and the kernel must allow it. Threads that hold a lock for reading are not shown then.
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import why

    return why.run(Paths.find(), pid, as_json, with_current)


@cli.command("top", context_settings=SETTINGS, short_help="Watch the locks of a running program, like top(1).")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, metavar="N", help="Show the top N locks.")
@click.option(
    "--interval",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    metavar="S",
    help="Seconds between two tables.",
)
@click.option(
    "--count", type=click.IntRange(1), metavar="N", help="End after N tables. Default: when the program ends."
)
@click.argument("pid", type=PID, metavar="PID")
def top_command(top: int, interval: float, count: int | None, pid: int) -> int:
    """Show every second which locks a running program's threads wait for, and where they are released. If the program
    was started with `lockswap profile`, or with LOCKSWAP_PROFILE, all its lock calls are counted. With
    LOCKSWAP_METRICS, the table is made from its counts. Any other program is sampled from outside, as by `lockswap
    profile --pid`.

    \b
    lockswap top 4711
    lockswap top --count 1 --interval 10 4711
    """
    from lockswap.base.paths import Paths
    from lockswap.metrics import top as counted_top
    from lockswap.profile import sampled_report
    from lockswap.profile import top as live_top
    from lockswap.profile.attach import WithoutLockswapError

    if counted_top.counts(pid):
        return counted_top.run(pid, top, interval, count)
    try:
        return live_top.run(Paths.find(), pid, top, interval, count)
    except WithoutLockswapError:
        return sampled_report.each_second(pid, top, interval, count)


@cli.command("metrics", context_settings=SETTINGS, short_help="Print lock metrics in Prometheus's format.")
@click.option("--listen", metavar="[HOST]:PORT", help="Serve a folder by HTTP, at /metrics, until Ctrl-C.")
@click.option("--text", is_flag=True, help="Print Prometheus's older text format, for node_exporter's textfiles.")
@click.option("--clean", is_flag=True, help="Remove the files of processes that have ended, once they are printed.")
@click.argument("subject", metavar="PID|DIR")
def metrics_command(listen: str | None, text: bool, clean: bool, subject: str) -> int:
    """Print the acquisitions, waits and wait times of programs that run with LOCKSWAP_METRICS=DIR and the library, in
    the OpenMetrics text format: for PID, or for every process with a file in DIR, including those that have ended.

    \b
    lockswap metrics 4711
    lockswap metrics /run/lockswap
    lockswap metrics --listen localhost:9464 --clean /run/lockswap

    See docs/metrics.md.
    """
    if listen is not None:
        if text:
            raise UserError("--listen answers each scraper in the format that it asks for; leave out --text")
        from lockswap.metrics import serve

        return serve.run(subject, listen, clean)
    from lockswap.metrics import scrape

    return scrape.run(subject, text, clean)


@cli.command("trace-vm", context_settings=PASS_ON, short_help="Record mapping calls and page faults, to replay them.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    default=_Path("program.vmtrace"),
    show_default=True,
    metavar="FILE",
    help="Write the trace to FILE; compressed if its name ends in .gz.",
)
@click.option(
    "--synthesise",
    is_flag=True,
    help="If perf isn't allowed to record faults, make up a first touch for each page.",
)
@click.option(
    "--processes",
    is_flag=True,
    help="Record a trace of all processes instead: which files they map, and when they fork, execute and end.",
)
@_command
def trace_vm_command(out: _Path, synthesise: bool, processes: bool, command: tuple[str, ...]) -> int:
    """Record which mapping calls each thread of a program makes (by strace) and which pages it touches (by perf). The
    program `address_space` replays the trace. The exit status is the program's own.

    \b
    lockswap trace-vm -o sort.vmtrace -- sort --parallel=4 words
    build/apps/address_space --trace sort.vmtrace --design list-pages

    A trace covers one address space: the started process's, after its last exec. A trace made with --processes is
    for `ldubench --trace`. See structures/docs/vm-traces.md and structures/docs/reverse-maps.md.
    """
    from lockswap.vm import trace_vm

    return trace_vm.run(list(command), out, synthesise, processes)


# What each way to use `predict` reads; the empty one is a plain prediction.
_PREDICT = {
    "show_list": (),
    "merge": ("files", "as_json"),
    "page": ("draws",),
    "replay": ("machine", "rwlock", "mutex", "draws", "calls", "as_json"),
    "validate": ("machine", "rwlock", "mutex", "threads", "draws", "virtual_ms", "rounds", "seconds"),
    "": ("machine", "workload", "writes", "rwlock", "mutex", "threads", "draws", "virtual_ms", "as_json"),
}


def _refuse_what_predict_does_not_read(given: list[click.Parameter]) -> None:
    way = next((one for one in given if one.name in _PREDICT), None)
    reads = _PREDICT[way.name if way else ""]
    unread = next((one for one in given if one is not way and one.name not in reads), None)
    if unread is None:
        return
    if unread.name == "files":
        raise UserError("a file needs --merge, which reads files that --validate wrote")
    needed = next(name for name, read in _PREDICT.items() if unread.name in (name, *read))
    where = f"with {way.opts[0]}" if way else f"without --{needed}"
    raise UserError(f"{unread.opts[0]} has no effect {where}: drop it")


@cli.command("predict", context_settings=SETTINGS, short_help="Model how locks scale on a machine that you don't have.")
@click.option(
    "--machine",
    metavar="NAME|FILE.toml",
    help="The machine: one that --list shows, or a file that 'lockswap machine' wrote.",
)
@click.option("--workload", "-w", default="rwbench", show_default=True, metavar="NAME", help="What the threads do.")
@click.option(
    "--writes",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    metavar="SHARE",
    help="Share of the acquisitions that write.",
)
@click.option("--rwlock", "-l", metavar="LOCKS", help="Reader-writer locks, comma-separated.")
@click.option("--mutex", "-m", metavar="MUTEXES", help="Mutexes, comma-separated.")
@click.option(
    "--threads",
    metavar="N,N...",
    help="Thread counts. Default: 1, 2, 4 ... up to the machine's hardware threads.",
)
@click.option(
    "--draws",
    type=click.IntRange(2),
    default=200,
    show_default=True,
    metavar="N",
    help="Sample unknown machine parameters N times. Fewer samples are faster but less certain.",
)
@click.option(
    "--virtual",
    "virtual_ms",
    type=click.FloatRange(0.1),
    default=5.0,
    show_default=True,
    metavar="MS",
    help="Length of each modelled run, in virtual milliseconds.",
)
@click.option(
    "--page",
    type=click.Path(path_type=_Path, file_okay=False),
    metavar="DIR",
    help="Use the model to check what papers say about locks, and write an HTML page with plots into DIR. The locks "
    "and machines are the papers'.",
)
@click.option(
    "--replay",
    type=click.Path(path_type=_Path),
    metavar="DIR|FILE",
    help="Instead of a workload, replay what 'lockswap record' recorded: a process's file, or a folder's busiest one.",
)
@click.option(
    "--calls",
    type=click.IntRange(100),
    default=5_000,
    show_default=True,
    metavar="N",
    help="With --replay: replay N acquisitions in each sample. Each sample replays one of up to 20 parts of a "
    "long record, in turn.",
)
@click.option("--list", "show_list", is_flag=True, help="List machines and workloads.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@click.option(
    "--validate",
    type=click.Path(path_type=_Path),
    metavar="FILE",
    help="Predict this machine, then measure it, and write both to FILE. The threads (1, 2, 4 ...) do nothing but "
    "lock.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="With --validate: measure N rounds.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.05),
    default=0.25,
    show_default=True,
    metavar="S",
    help="With --validate: length of each measured run.",
)
@click.option("--merge", is_flag=True, help="Show how accurate the predictions in files written by --validate were.")
@click.argument("files", nargs=-1, type=click.Path(path_type=_Path), metavar="[FILE...]")
def predict_command(
    replay: _Path | None,
    calls: int,
    machine: str | None,
    workload: str,
    writes: float,
    rwlock: str | None,
    mutex: str | None,
    threads: str | None,
    draws: int,
    virtual_ms: float,
    page: _Path | None,
    show_list: bool,
    as_json: bool,
    validate: _Path | None,
    rounds: int,
    seconds: float,
    merge: bool,
    files: tuple[_Path, ...],
) -> int | None:
    """Predict how locks scale on a machine that you don't have. The locks' own code runs on a modelled machine,
    with cache-line transfer times measured on the real machine. All figures are modelled, not measured.

    \b
    lockswap predict --list
    lockswap predict --machine x5-2 --rwlock ba,bravo-ba --writes 0.01
    lockswap predict --machine e5-2680-v4 --workload pairs --writes 1 --mutex mcs,ticket --threads 2,28
    lockswap predict --validate here.json        predict this machine, then measure it
    lockswap predict --merge here.json its.json  show how accurate the predictions were on several machines
    lockswap predict --page predictions --draws 24
    lockswap predict --replay lockswap-record --machine x5-2 --mutex mcs,cohort

    See docs/predict.md and docs/replay.md for what the model covers, and how good its predictions were.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import predict

    given = _given()
    _refuse_what_predict_does_not_read(given)
    if show_list:
        predict.show_list(Paths.find())
        return None
    if merge:
        from lockswap.predict import validate as validating

        return validating.merge(files, as_json)
    if page is not None:
        from lockswap.predict.page import write

        print(f"{write(Paths.find(), page, draws)}: modelled, not measured")
        return None
    if machine is None and validate is None:
        raise UserError("name a machine: --machine x5-2; 'lockswap predict --list' shows all")
    locks = tuple(tuple(filter(None, (one or "").split(","))) for one in (rwlock, mutex))
    if replay is not None:
        from lockswap.predict import replay as replaying

        replaying.run(Paths.find(), replaying.Request(replay, machine, *locks, draws, calls, as_json))
        return None
    try:
        counts = tuple(sorted({int(n) for n in threads.split(",")})) if threads else ()
    except ValueError:
        counts = (0,)
    if threads and (not counts or counts[0] < 1):
        raise UserError(f"--threads '{threads}' is not a list of numbers; write it like 1,8,36")
    if validate is not None:
        from lockswap.predict import validate as validating

        names = {one.name for one in given}
        return validating.run(
            Paths.find(),
            validating.Request(
                validate,
                machine,
                counts,
                *locks,
                draws if "draws" in names else validating.DRAWS,
                virtual_ms if "virtual_ms" in names else validating.VIRTUAL_MS,
                rounds,
                seconds,
            ),
        )
    predict.run(
        Paths.find(),
        predict.Request(machine, workload, writes, *locks, counts, draws, virtual_ms, as_json),
    )
    return None


@cli.command("machine", context_settings=SETTINGS, short_help="Measure this machine for 'lockswap predict'.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    default=_Path("machine.toml"),
    show_default=True,
    metavar="FILE",
    help="Write to FILE.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.01),
    metavar="S",
    help="Measure latencies for about S seconds. Default: 0.2 for each pair of processors, from 1 to 60 in all.",
)
def machine_command(out: _Path, seconds: float | None) -> int:
    """Measure this machine, and write a small file with which 'lockswap predict --machine FILE' can model it anywhere.
    The file has the latency between each pair of processors, the topology, and the cost of atomic operations and
    uncontended locks.

    \b
    lockswap machine
    lockswap machine --out epyc.toml
    taskset -c 0-15 lockswap machine

    Only processors that this process may use are measured. The file names neither the machine nor a user. Measure while
    nothing else runs.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import machine_file

    return machine_file.run(Paths.find(), out, seconds)


@cli.command("record", context_settings=PASS_ON, short_help="Record a program's lock calls, to replay them.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    default=_Path("lockswap-record"),
    show_default=True,
    metavar="DIR",
    help="A new folder for the records, one file for each process.",
)
@click.option(
    "--size",
    "megabytes",
    type=click.IntRange(1, 1024),
    default=64,
    show_default=True,
    metavar="MB",
    help="Stop recording a process when its file reaches MB megabytes (about 32,000 acquisitions per megabyte).",
)
@click.option(
    "--after",
    type=click.FloatRange(0, 86400),
    default=0.0,
    show_default=True,
    metavar="SECONDS",
    help="Begin to record SECONDS after the start of each process.",
)
@_preload
@_preload_first
@_command
def record_command(
    out: _Path,
    megabytes: int,
    after: float,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a program on glibc's own locks, and record the lock calls of each thread: which lock, in which mode, for how
    long it was held, and how long the thread worked in between. From that, `lockswap predict --replay` estimates how
    fast the program would be with other locks, on a machine that you don't have. The exit status is the program's own.

    \b
    lockswap record -- ./prog
    lockswap record --after 5 --size 16 --out trace -- ./server --port 8080
    lockswap predict --replay trace --machine x5-2 --rwlock ba,bravo-ba

    See docs/replay.md for what is recorded, and what it costs.
    """
    from lockswap.base.paths import Paths
    from lockswap.predict import record

    return record.run(Paths.find(), list(command), out, megabytes, after, preload, preload_first)


@cli.command("advise", context_settings=PASS_ON, short_help="Try other locks for the slow ones, and write a policy.")
@_metric
@_better
@_lower_is_better
@_budget
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=_Path),
    default=_Path("advised.policy"),
    show_default=True,
    metavar="FILE",
    help="Write the policy to FILE.",
)
@click.option("--server", metavar="'CMD'", help="Advise on a server: start this before each run of --load.")
@click.option(
    "--load", metavar="'CMD'", help="Sends requests to the server, then exits. Its own locks are not swapped."
)
@click.option(
    "--ready",
    metavar="REGEX|PORT",
    help="The server is ready when it prints REGEX, or listens on PORT. Default: {port}.",
)
@click.option("--stop", metavar="SIGNAL", help="What stops the server. Default: TERM.")
@_preload_first
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def advise_command(
    metric: str | None,
    lower_is_better: bool,
    budget: float,
    out: _Path,
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
    **served: str | None,
) -> int:
    """Find out which locks of a program to swap. It profiles the program, tries other locks where threads wait most,
    alternating with glibc's, measures the best choice once more, and writes a policy if there is a gain.

    \b
    lockswap advise -- ./batch input
    lockswap advise --metric 'ops/s: ([0-9.]+)' --budget 5m -- ./bench --threads 8
    lockswap advise --server './server -p {port}' --load './load localhost:{port}' --metric 'requests/s: ([0-9.]+)'

    A command must end by itself and do the same work in each run. A server is started for each run, and the metric is
    read from what the load prints. See docs/whatif.md.
    """
    from lockswap.advise import advise, subject
    from lockswap.base.paths import Paths

    paths = Paths.find()
    asked = subject.asked_for(paths.meter, list(command), **served)
    return advise.run(paths, asked, metric, lower_is_better, budget, out, preload_first)


@cli.command("whatif", context_settings=PASS_ON, short_help="Estimate what each lock costs, before you change it.")
@_metric
@_better
@_lower_is_better
@click.option(
    "--lock",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only locks whose name, as 'lockswap profile' prints it, contains NAME. Repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "read", "write"]),
    default="both",
    show_default=True,
    help="Which holds of reader-writer locks to lengthen; 'read' and 'write' exclude mutexes.",
)
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Try at most N locks.")
@click.option(
    "--delay",
    "delay_us",
    type=click.FloatRange(0.2, 1_000_000),
    metavar="US",
    help="The longer of the two delays. Default: half a run, divided by the lock's holds.",
)
@_budget
@_preload_first
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@_command
def whatif_command(command: tuple[str, ...], **options: object) -> int:
    """Find out what each lock costs a program, before you change anything. It lengthens the holds of one lock at a
    time, compares that with the same delay after the release, and ranks the locks by how much the program slows down.

    \b
    lockswap whatif -- ./batch input
    lockswap whatif --metric 'ops/s: ([0-9.]+)' --budget 5m -- ./bench --threads 8
    lockswap whatif --lock cache_lock --mode read -- ./batch input

    The program must end by itself and do the same work in each run. See docs/whatif.md.
    """
    from lockswap.base.paths import Paths
    from lockswap.whatif import whatif

    return whatif.run(Paths.find(), whatif.Request(command=list(command), **options))


@cli.group("policy", context_settings=SETTINGS, short_help="Swap some locks and leave the others to glibc.")
def policy_group() -> None:
    """Check a policy: rules that swap some locks of a program and leave the others to glibc. See docs/policy.md."""


@policy_group.command("check", context_settings=PASS_ON, short_help="Run a program and show what each rule matched.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@_preload_first
@click.argument("rules", metavar="FILE|NAME|RULE")
@_command
def policy_check_command(as_json: bool, preload_first: tuple[str, ...], rules: str, command: tuple[str, ...]) -> int:
    """Run a program with a policy, and show on stderr which locks each rule matched and where the program initialises
    them or first uses them. The exit status is the program's own.

    \b
    lockswap policy check rules.txt -- ./server --port 8080
    lockswap policy check 'module=libcrypto.so.3 rwlock=bravo-ba' -- openssl speed sha256
    lockswap policy check libcrypto -- openssl speed sha256     a policy that comes with lockswap

    Locks that no rule matched are listed too, with the call sites that a new rule can name.
    """
    from lockswap.base.paths import Paths
    from lockswap.policy import check

    words = list(command)
    if words[0] == "--":  # it stands behind FILE, so click takes it for the first word
        del words[0]
    if not words:
        raise UserError("give the command to run after '--'")
    return check.run(Paths.find(), rules, words, as_json, preload_first)


@cli.command("completion", context_settings=SETTINGS, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="bash|zsh|fish")
def completion_command(shell: str) -> None:
    """Print a script with which a shell completes commands, options, locks, mutexes, workloads and campaigns. An
    installation has the scripts in the shells' own folders.

    \b
    For this bash:
      eval "$(lockswap completion bash)"
    For zsh, in a directory on its fpath:
      lockswap completion zsh > ~/.zfunc/_lockswap
    For fish:
      lockswap completion fish > ~/.config/fish/completions/lockswap.fish
    """
    from lockswap.shell import scripts

    print(scripts.script(cli, shell))


@cli.command("doctor", context_settings=PASS_ON, short_help="Check whether locks can be swapped here.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[PID | -- CMD...]")
def doctor_command(as_json: bool, words: tuple[str, ...]) -> int:
    """Check whether locks can be swapped here, and say what to do if not, in one line each. Without an argument it
    checks the machine. With a command it also checks the command's files, without starting it. For a running process it
    says whether lockswap is loaded, which lock it uses and since when, and what bypasses it.

    \b
    lockswap doctor
    lockswap doctor -- ./server --port 8080
    lockswap doctor 4711

    A line begins with 'ok', with 'note' if it is worth knowing, or with 'stops' if it prevents a swap.

    \b
    Exit status:
      0    nothing stops a swap
      1    something does
      2    bad input
    """
    from lockswap.base.paths import Paths
    from lockswap.doctor import doctor

    return doctor.run(Paths.find(), list(words), as_json)


@cli.command("off", context_settings=SETTINGS, short_help="Make a running program use glibc's locks from now on.")
@click.argument("pid", type=PID, metavar="PID")
def off_command(pid: int) -> int:
    """Switch lockswap off in a running process: locks that are first used from now on are glibc's. Locks in use stay as
    they are until they are destroyed or initialised again. Condition variables stay lockswap's, because they work with
    both kinds of mutexes. Only exec or a restart switches lockswap on again.

    \b
    lockswap off 4711

    You must be the process's user or root, and the kernel must let you trace it. See docs/production.md.
    """
    from lockswap.base.paths import Paths
    from lockswap.doctor import off

    return off.run(Paths.find(), pid)


@cli.group("service", context_settings=SETTINGS, short_help="Swap the locks of a systemd service.")
def service_group() -> None:
    """Swap the locks of a systemd service by a drop-in, a small file next to the unit's own. See docs/production.md."""


_user = click.option("--user", is_flag=True, help="Use the systemd user manager.")
_root = click.option(
    "--root",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Work on the unit files below DIR, for example in an image being built.",
)
_now = click.option("--now", is_flag=True, help="Also reload the manager, and restart the unit if it runs.")


@service_group.command("enable", context_settings=SETTINGS, short_help="Write the drop-in.")
@_rwlock
@_mutex
@click.option("--cond", metavar="own|pthread", help="Condition variables, as for 'lockswap run'.")
@click.option("--wait", metavar="HOW", help="How threads wait: spin, yield or park.  [default: park]")
@_user
@_root
@_now
@click.argument("unit", metavar="UNIT")
def service_enable_command(
    rwlock: str | None,
    mutex: str | None,
    cond: str | None,
    wait: str | None,
    user: bool,
    root: _Path | None,
    now: bool,
    unit: str,
) -> int:
    """Write the file UNIT.d/50-lockswap.conf, which sets LD_PRELOAD and the locks, and show it. Libraries that the
    unit already preloads stay in the list. The exit status is 1 if a setting of the unit prevents the swap.

    \b
    lockswap service enable nginx --rwlock auto --mutex auto
    lockswap service enable nginx --rwlock auto --now
    """
    from lockswap.base.paths import Paths
    from lockswap.service import service

    paths = Paths.find()
    library = str(paths.library)
    manager = service.manager_of(user, root)
    return service.enable(
        manager, unit, library, lambda had: service.variables(paths, library, had, rwlock, mutex, cond, wait), now
    )


@service_group.command("disable", context_settings=SETTINGS, short_help="Remove the drop-in.")
@_user
@_root
@_now
@click.argument("unit", metavar="UNIT")
def service_disable_command(user: bool, root: _Path | None, now: bool, unit: str) -> int:
    """Remove the file that 'enable' wrote, and its folder if nothing else is in there."""
    from lockswap.service import service

    return service.disable(service.manager_of(user, root), unit, now)


@service_group.command("status", context_settings=SETTINGS, short_help="Check the running service.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@_user
@_root
@click.argument("unit", metavar="UNIT")
def service_status_command(as_json: bool, user: bool, root: _Path | None, unit: str) -> int:
    """Say whether the drop-in is there, which settings of the unit prevent the swap, and what 'lockswap doctor' says
    about the service's main process. The exit status is the doctor's."""
    from lockswap.base.paths import Paths
    from lockswap.service import service

    return service.status(Paths.find(), service.manager_of(user, root), unit, as_json)
