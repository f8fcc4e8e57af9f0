"""The command line. Heavy modules are imported inside the commands, so that `run` starts fast."""

from __future__ import annotations

from pathlib import Path as _Path

import click

from lockswap.base.errors import UserError
from lockswap.base.version import VERSION
from lockswap.campaign import request
from lockswap.campaign.headings import HeadedCommand, HeadedOption
from lockswap.run.stats_option import WithStats

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PASS_ON = {"ignore_unknown_options": False, "allow_interspersed_args": False}


@click.group(context_settings=SETTINGS)
@click.version_option(VERSION, prog_name="lockswap")
def cli() -> None:
    """Run and compare unmodified programs under swapped pthread locks."""


@cli.command("list", short_help="Show locks, mutexes and workloads; of one, everything.")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON for scripts.")
@click.argument("name", required=False, metavar="[NAME|ranges|workloads|variables|waits]")
def list_command(as_json: bool, name: str | None) -> None:
    """Show locks and mutexes, a line each; or everything of one of them.

    \b
    lockswap list                locks and mutexes
    lockswap list cohort         all about one lock, mutex, range lock, variable or workload
    lockswap list workloads      also: ranges, variables, waits, structures
    """
    from lockswap.base.paths import Paths
    from lockswap.listing import show

    if as_json and name:
        raise UserError(f"--json prints everything; leave '{name}' away")
    show(Paths.find(), name, as_json)


@cli.command("run", cls=WithStats, context_settings=PASS_ON, short_help="Run a program under a lock.")
@click.option(
    "--rwlock", "-l", metavar="LOCK", help="The reader-writer lock; 'lockswap list' shows all. Default: glibc's."
)
@click.option(
    "--mutex", "-m", metavar="MUTEX", help="The mutex, with condition variables to it. Default: glibc's, untouched."
)
@click.option(
    "--cond",
    metavar="own|pthread",
    help="Condition variables: own, ours, also with glibc's mutexes; pthread, glibc's. Default: those of the mutex.",
)
@click.option("--wait", metavar="POLICY", help="How waiting threads wait: spin, yield or park (the default).")
@click.option(
    "--stats",
    is_flag=False,
    flag_value="1",
    metavar="[FILE]",
    help="Count acquisitions: text on stderr at the end, also by Ctrl-C, or JSON in FILE.<pid> (--stats=FILE).",
)
@click.option("--verbose", is_flag=True, help="Say on stderr, from inside the program, which lock is active.")
@click.option("--preload", multiple=True, metavar="LIB", help=f"{request.PRELOAD_HELP} Repeatable.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
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
    """Run a program under a lock. The exit status is the program's own.

    \b
    lockswap run --rwlock bravo-ba -- ./server --port 8080
    lockswap run --mutex mcs -- ./prog              its mutexes
    lockswap run --rwlock ba --mutex mcs -- ./prog  both
    lockswap run --cond own -- ./prog               its condition variables alone
    lockswap run --rwlock ba --stats -- ./prog      counts on stderr at exit
    lockswap run --rwlock none -- ./prog            as it is, without lockswap
    """
    from lockswap.base.paths import Paths
    from lockswap.run.launch import run

    run(Paths.find(), list(command), rwlock, mutex, cond, wait, stats, verbose, preload, preload_first)


def _compared_by_default() -> dict[str, str]:
    """What the registry and the installation say, for the help of `compare`."""
    from lockswap.base.paths import Paths
    from lockswap.base.registry import Registry

    paths = Paths.find()
    found = {request.DEFAULT_FOLDER: paths.results_in_words}
    try:
        registry = Registry.load(paths)
    except UserError:  # nothing is built
        return found | dict.fromkeys(
            (request.DEFAULT_RWLOCKS, request.DEFAULT_MUTEXES), "those that the registry names"
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
    short_help="Compare locks and write a report.",
)
@request.with_options
@click.option(
    "--resume",
    cls=HeadedOption,
    heading=request.RECORDS,
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Go on with an interrupted campaign.",
)
@click.option(
    "--report/--no-report",
    "with_report",
    cls=HeadedOption,
    heading=request.RECORDS,
    default=True,
    help="With or without the page and plots; 'lockswap report DIR' makes them later.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def compare_command(resume: _Path | None, with_report: bool, **options: object) -> int:
    """Compare locks on workloads, or on a command of your own, and write a report.

    \b
    lockswap compare --quick
    lockswap compare -w all
    lockswap compare -w test-rwlock -l ba,bravo-ba -t 1,2,8
    lockswap compare -w arrbench --range list-rw,kernel-rw --against range:rwlock
    lockswap compare -w kcutiltest-cond -m mcs,clh
    lockswap compare -w test-rwlock -l ba --until 5% --against pthread --fail-below 0.97
    lockswap compare -l bravo-ba --metric 'ops/s: ([0-9.]+)' -- ./prog --threads {threads} --seconds {seconds}
    lockswap compare -l ba --server './server -p {port} -t {threads}' --load './load localhost:{port}' --metric REGEX

    Locks take turns (A B C, B C A, ...), so that a drift of the machine meets all alike. A run that crashes, hangs,
    prints a wrong result or takes no lock under test becomes a row that says so. Ctrl-C keeps what was measured.

    \b
    Exit status:
      0    locks were compared; with --fail-below, none is shown to be below
      2    bad input, or nothing named to run; nothing was run
      3    --fail-below: a lock is shown to be below, or its runs failed and the baseline's did not
      4    no lock was compared, as no run was good or none took the lock; with --fail-below, any of them was not
      130  interrupted; --resume goes on
    """
    from lockswap.campaign import compare

    if resume is not None:
        context = click.get_current_context()
        for parameter in context.command.params:
            source = context.get_parameter_source(parameter.name)
            if parameter.name in options and source is click.core.ParameterSource.COMMANDLINE:
                what = parameter.opts[0] if isinstance(parameter, click.Option) else "the command"
                raise UserError(f"--resume takes everything from the campaign; leave {what} away")
        return compare.resume(resume, with_report)
    return compare.run(request.Request.from_command_line(options), with_report)


@cli.command("report", short_help="Regenerate a campaign's report, or compare campaigns.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=_Path), metavar="DIR [DIR...]")
@click.option(
    "--out",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Where to write. Default: the campaign's own folder; with several campaigns A-vs-B beside them.",
)
@click.option("--silent", is_flag=True, help="Print only where the report is.")
@click.option("--markdown", is_flag=True, help="Print the tables and sentences of one campaign as Markdown.")
def report_command(folders: tuple[_Path, ...], out: _Path | None, silent: bool, markdown: bool) -> None:
    """Regenerate a campaign's page, plots, CSV and JSON from its raw data. With several campaigns: show how the ratios
    changed from the first to each other one, and what else differs between them.

    \b
    lockswap report results/2026-11-seven-locks
    lockswap report results/before results/after --out /tmp/compared
    """
    if len(folders) > 1:
        if markdown:
            raise UserError("--markdown prints one campaign; name one folder")
        _side_by_side(list(folders), out, silent)
        return
    from lockswap.findings import reading
    from lockswap.report import terminal, writer

    findings = reading.read(folders[0])
    page = writer.write(findings, out)
    if silent:
        print(page)
    else:
        terminal.show(findings, page, markdown)


def _side_by_side(folders: list[_Path], out: _Path | None, silent: bool) -> None:
    from lockswap.side_by_side import campaigns, page, terminal

    found = campaigns.read(folders)
    file = page.write(found, out or page.default_folder(found))
    if silent:
        print(file)
    else:
        terminal.show(found, file)


@cli.command("audit", context_settings=PASS_ON, short_help="Run a program and say what matters before a swap.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=_Path),
    metavar="FILE",
    help="Write the report to FILE. Default: stderr, behind the program's own output.",
)
@click.option(
    "--fail-on-findings",
    is_flag=True,
    help="A gate for CI: exit with 3 if there is something to look at or nothing is known, unless the program failed.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=_Path),
    metavar="FILE",
    help="Also write the findings to FILE as JUnit XML, for CI systems.",
)
@click.option("--preload", multiple=True, metavar="LIB", help=f"{request.PRELOAD_HELP} Repeatable.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def audit_command(
    as_json: bool,
    out: _Path | None,
    fail_on_findings: bool,
    junit: _Path | None,
    preload: tuple[str, ...],
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a program on glibc's own locks, and say what matters before they are swapped. It ends with "safe", or with
    what to look at; rwlocks, mutexes and condition variables have a verdict each. What can hang is found without a
    hang: mutexes and rwlocks that are taken in orders that make a circle, with the stacks of all threads in it. The
    exit status is the program's own.

    \b
    lockswap audit -- ./server --port 8080
    lockswap audit --json --out audit.json -- ./prog
    lockswap audit --fail-on-findings -- make check

    All processes that the program starts are looked at, but for static, setuid and foreign ones.
    """
    from lockswap.audit import audit
    from lockswap.base.paths import Paths

    return audit.run(Paths.find(), list(command), as_json, out, fail_on_findings, preload, preload_first, junit)


@cli.command("fuzz", context_settings=PASS_ON, short_help="Look for races: seeded delays around locks.")
@click.option("--seed", type=click.IntRange(0, 2**63), metavar="N", help="The first run's seed. Default: a random one.")
@click.option(
    "--runs", type=click.IntRange(1), default=100, metavar="K", help="Number of runs, each with the next seed.  [100]"
)
@click.option(
    "--again", type=click.IntRange(0), default=10, metavar="M", help="How often to run a failing seed again.  [10]"
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="A run that takes longer is a hang. Default: a run that makes no progress.",
)
@click.option("--same-output", is_flag=True, help="Also fail if stdout or status differ from the undisturbed run's.")
@click.option("--spurious", is_flag=True, help="Let waits for condition variables return for no reason.")
@click.option(
    "--percent",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Percentage of points to disturb. Default: chosen from the seed.",
)
@click.option(
    "--delay", type=click.IntRange(1, 1_000_000), metavar="US", help="The longest delay in microseconds.  [4000]"
)
@click.option(
    "--serial",
    is_flag=True,
    help="Instead of delays, run one thread at a time, in an order that the seed chooses and repeats.",
)
@click.option(
    "--budget",
    type=click.IntRange(1, 1_000_000),
    metavar="MS",
    help="Delay a thread less and less often once its delays have cost MS milliseconds.  [300]",
)
@click.option("--rwlock", "-l", metavar="LOCK", help="Run under this reader-writer lock. Default: glibc's.")
@click.option("--mutex", "-m", metavar="MUTEX", help="Run under this mutex. Default: glibc's.")
@click.option("--preload", multiple=True, metavar="LIB", help=f"{request.PRELOAD_HELP} Repeatable.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON, on stdout.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def fuzz_command(delay: int | None, budget: int | None, command: tuple[str, ...], **options: object) -> int:
    """Run a program again and again, each time with different delays, yields and migrations around its lock calls, and
    stop at the first crash, hang or sanitizer report. The exit status is 3 then, and 0 if no run fails.

    \b
    lockswap fuzz -- ./prog
    lockswap fuzz --same-output --runs 500 -- ./prog
    lockswap fuzz --seed 17 --runs 1 -- ./prog          repeat a seed

    A seed repeats what is done to each thread; docs/fuzz.md says what it cannot repeat.
    """
    from lockswap.base.paths import Paths
    from lockswap.fuzz import fuzz

    return fuzz.run(Paths.find(), fuzz.Request(command=list(command), delay_us=delay, budget_ms=budget, **options))


@cli.command(
    "profile", context_settings=PASS_ON, short_help="Run a program and say which lock hurts, and where it is held."
)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Show the top N locks.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Write profile.html, profile.json, stacks for pprof and speedscope, and a trace for Perfetto to DIR.",
)
@click.option(
    "--from", "folder", type=click.Path(path_type=_Path), metavar="DIR", help="Read what LOCKSWAP_PROFILE=DIR recorded."
)
@click.option(
    "--diff",
    "both",
    nargs=2,
    type=click.Path(path_type=_Path),
    metavar="BEFORE AFTER",
    help="Compare two profiles: folders of -o or --from, or their profile.json.",
)
@click.option("--json", "as_json", is_flag=True, help="With --diff: report as JSON.")
@click.option("--pid", type=click.IntRange(1), metavar="PID", help="Profile a running process for some seconds.")
@click.option("--seconds", type=click.FloatRange(0.1), metavar="S", help="With --pid: for S seconds.  [10]")
@click.option("--rwlock", "-l", metavar="LOCK", help="Run under this reader-writer lock. Default: glibc's.")
@click.option("--mutex", "-m", metavar="MUTEX", help="Run under this mutex. Default: glibc's.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def profile_command(
    top: int,
    out: _Path | None,
    folder: _Path | None,
    both: tuple[_Path, _Path] | None,
    as_json: bool,
    pid: int | None,
    seconds: float | None,
    rwlock: str | None,
    mutex: str | None,
    preload_first: tuple[str, ...],
    command: tuple[str, ...],
) -> int:
    """Run a program, and say on stderr which of its locks hurt: at which line threads waited, how long, and at which
    line the holder kept them waiting. The locks are glibc's own, unless an option or the environment says otherwise.
    The exit status is the program's own.

    \b
    lockswap profile -- ./server --port 8080
    lockswap profile --top 5 -o hot -- ./prog
    LOCKSWAP_PROFILE=/tmp/hot LD_PRELOAD=liblockswap.so ./prog; lockswap profile --from /tmp/hot
    lockswap profile --pid 4711 --seconds 10
    lockswap profile --diff hot better
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import profile, sampled_report
    from lockswap.profile.attach import WithoutLockswapError

    if both:
        if command or folder or pid is not None or seconds is not None or rwlock or mutex or preload_first:
            raise UserError("--diff compares two profiles; of the rest only --top, --json and -o go with it")
        return profile.compare(Paths.find(), *both, top, out, as_json)
    if as_json:
        raise UserError("--json goes with --diff; -o DIR writes a profile's profile.json")
    if pid is not None:
        if command or folder or rwlock or mutex or preload_first:
            raise UserError("--pid looks at a process that runs; of the rest only --seconds, --top and -o go with it")
        try:
            return profile.watch(Paths.find(), pid, seconds or 10.0, top, out)
        except WithoutLockswapError:
            return sampled_report.watch(pid, seconds or 10.0, top, out)
    if seconds is not None:
        raise UserError("--seconds goes with --pid; what is recorded, or run here, is looked at as a whole")
    if folder is not None:
        if command or out or rwlock or mutex or preload_first:
            raise UserError("--from reads what was recorded; leave the command and all options but --top away")
        return profile.read(Paths.find(), folder, top)
    if not command:
        raise UserError("say what to run, behind '--'")
    return profile.run(Paths.find(), list(command), top, out, rwlock, mutex, preload_first)


@cli.command("why", context_settings=SETTINGS, short_help="Say why a program hangs: which thread holds what.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--current", "with_current", is_flag=True, help="Also show where threads are now, by gdb, which stops them."
)
@click.argument("pid", type=click.IntRange(1), metavar="PID")
def why_command(as_json: bool, with_current: bool, pid: int) -> int:
    """Show which thread of a running, perhaps hanging, program holds which lock, which threads wait for it, since when
    and where, and whether they wait in a circle. A program that was started under `lockswap profile`, or with
    LOCKSWAP_PROFILE, is not stopped, and need not answer. Of any other program the locks are read from its memory,
    which the kernel must allow, and it isn't known which threads hold them for reading.

    \b
    lockswap profile -- ./server --port 8080
    lockswap why 4711
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import why

    return why.run(Paths.find(), pid, as_json, with_current)


@cli.command("top", context_settings=SETTINGS, short_help="Show the locks that threads wait for, each second.")
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
@click.argument("pid", type=click.IntRange(1), metavar="PID")
def top_command(top: int, interval: float, count: int | None, pid: int) -> int:
    """Show again and again which locks of a running program its threads wait for, and where they are held. The program
    must have been started under `lockswap profile`, or with LOCKSWAP_PROFILE.

    \b
    lockswap top 4711
    lockswap top --count 1 --interval 10 4711
    """
    from lockswap.base.paths import Paths
    from lockswap.profile import top as live_top

    return live_top.run(Paths.find(), pid, top, interval, count)


@cli.command("trace-vm", context_settings=PASS_ON, short_help="Record a program's mapping calls and page faults.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=_Path),
    default=_Path("program.vmtrace"),
    show_default=True,
    metavar="FILE",
    help="Where the trace goes; compressed if it ends in .gz.",
)
@click.option("--synthesise", is_flag=True, help="Make up first touches, as where perf may not record faults.")
@click.option(
    "--processes",
    is_flag=True,
    help="Record another kind of trace: of all processes, what they map of files, when they fork, execute and end.",
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def trace_vm_command(out: _Path, synthesise: bool, processes: bool, command: tuple[str, ...]) -> int:
    """Record which mapping calls a program makes, by strace, and which pages it touches, by perf, thread by thread. The
    program `address_space` replays the trace. The exit status is the program's own.

    \b
    lockswap trace-vm -o sort.vmtrace -- sort --parallel=4 words
    build/apps/address_space --trace sort.vmtrace --design list-pages

    A trace is of one address space: that of the process which is started, after its last exec. One with --processes
    is for `ldubench --trace`. See structures/docs/vm-traces.md and structures/docs/reverse-maps.md.
    """
    from lockswap.vm import trace_vm

    return trace_vm.run(list(command), out, synthesise, processes)


@cli.command("advise", context_settings=PASS_ON, short_help="Try other locks where it hurts, and write a policy.")
@click.option("--metric", metavar="REGEX", help="Judge a run by the last number that this finds in the output.")
@click.option("--lower-is-better", is_flag=True, help="The metric is a time or the like.")
@click.option(
    "--budget",
    type=click.FloatRange(1, 86400),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the experiment may take; six rounds of each kind are run in any case.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=_Path),
    default=_Path("advised.policy"),
    show_default=True,
    metavar="FILE",
    help="Where the policy goes.",
)
@click.option("--server", metavar="'CMD'", help="Advise on a server: start this before each run of --load.")
@click.option("--load", metavar="'CMD'", help="What makes requests to the server, and ends; not swapped.")
@click.option(
    "--ready",
    metavar="REGEX|PORT",
    help="The server is ready when it prints REGEX, or listens on PORT. Default: {port}.",
)
@click.option("--stop", metavar="SIGNAL", help="What stops the server. Default: TERM.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
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
    """Find out which locks of a program to swap: profile it, run it by turns on glibc's locks and with other algorithms
    for the locks that cost most, measure the best choice again, and write a policy if there is a gain.

    \b
    lockswap advise -- ./batch input
    lockswap advise --metric 'ops/s: ([0-9.]+)' --budget 300 -- ./bench --threads 8
    lockswap advise --server './server -p {port}' --load './load localhost:{port}' --metric 'requests/s: ([0-9.]+)'

    A command must end by itself, and do the same work in each run. A server starts anew for each run, and the metric
    is looked for in what the load prints. docs/advise.md.
    """
    from lockswap.advise import advise, subject
    from lockswap.base.paths import Paths

    paths = Paths.find()
    asked = subject.asked_for(paths.meter, list(command), **served)
    return advise.run(paths, asked, metric, lower_is_better, budget, out, preload_first)


@cli.command("whatif", context_settings=PASS_ON, short_help="Say how much each lock matters, before a change.")
@click.option("--metric", metavar="REGEX", help="Judge a run by the last number that this finds in the output.")
@click.option("--lower-is-better", is_flag=True, help="The metric is a time or the like.")
@click.option(
    "--lock",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only locks with this in their name, as 'lockswap profile' prints it; repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "read", "write"]),
    default="both",
    show_default=True,
    help="Which holds of reader-writer locks; read or write leaves mutexes out.",
)
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, metavar="N", help="Try at most N locks.")
@click.option(
    "--delay",
    "delay_us",
    type=click.FloatRange(0.2, 1_000_000),
    metavar="US",
    help="The longer of the two delays. Default: half a run, divided by the lock's holds.",
)
@click.option(
    "--budget",
    type=click.FloatRange(1, 86400),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long it may take; six rounds are run in any case.",
)
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def whatif_command(command: tuple[str, ...], **options: object) -> int:
    """Find out what each lock of a program costs it: make the holds of one lock at a time longer, compare that with the
    same time behind the release, and rank the locks by what the program pays.

    \b
    lockswap whatif -- ./batch input
    lockswap whatif --metric 'ops/s: ([0-9.]+)' --budget 300 -- ./bench --threads 8
    lockswap whatif --lock cache_lock --mode read -- ./batch input

    The program must end by itself, and do the same work in each run. docs/whatif.md.
    """
    from lockswap.base.paths import Paths
    from lockswap.whatif import whatif

    return whatif.run(Paths.find(), whatif.Request(command=list(command), **options))


@cli.group("policy", context_settings=SETTINGS, short_help="Rules that swap some locks and leave the rest.")
def policy_group() -> None:
    """Rules that swap some locks of a program and leave the rest to glibc; docs/policy.md has their words."""


@policy_group.command("check", context_settings=PASS_ON, short_help="Run a program and say what each rule caught.")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option("--preload-first", multiple=True, metavar="LIB", help=f"{request.PRELOAD_FIRST_HELP} Repeatable.")
@click.argument("rules", metavar="FILE")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def policy_check_command(as_json: bool, preload_first: tuple[str, ...], rules: str, command: tuple[str, ...]) -> int:
    """Run a program under a policy, a file or a rule in quotes, and say on stderr what each rule caught: objects, and
    the places that initialise them or use them first. The exit status is the program's own.

    \b
    lockswap policy check rules.txt -- ./server --port 8080
    lockswap policy check 'module=libcrypto.so.3 rwlock=bravo-ba' -- openssl speed sha256

    What no rule caught is listed too: its places are what a new rule can name.
    """
    from lockswap.base.paths import Paths
    from lockswap.policy import check

    words = list(command)
    if words[0] == "--":  # it stands behind FILE, so click takes it for the first word
        del words[0]
    if not words:
        raise UserError("say what to run, behind '--'")
    return check.run(Paths.find(), rules, words, as_json, preload_first)
