"""The command line. Heavy modules are imported inside the commands, so that `run` starts fast."""

from __future__ import annotations

import shlex
from pathlib import Path as _Path

import click

from lockswap.base.errors import UserError
from lockswap.base.version import VERSION

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
PRELOAD_HELP = "Preload this library behind ours, in every run: 'jemalloc', 'tcmalloc', or a path."
PASS_ON = {"ignore_unknown_options": False, "allow_interspersed_args": False}


@click.group(context_settings=SETTINGS)
@click.version_option(VERSION, prog_name="lockswap")
def cli() -> None:
    """Run and compare unmodified programs under swapped pthread locks."""


@cli.command("list", short_help="Show every lock, mutex, wait policy and workload.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
def list_command(as_json: bool) -> None:
    """Show every lock, mutex, wait policy and workload, with capabilities and source."""
    from lockswap.base.paths import Paths
    from lockswap.listing import show

    show(Paths.find(), as_json)


@cli.command("run", context_settings=PASS_ON, short_help="Run a program under a lock.")
@click.option("--rwlock", metavar="LOCK", help="The reader-writer lock; 'lockswap list' shows all. Default: glibc's.")
@click.option(
    "--mutex", metavar="MUTEX", help="The mutex, with condition variables to it. Default: glibc's, untouched."
)
@click.option("--wait", metavar="POLICY", help="How waiting threads wait: spin, yield or park (the default).")
@click.option(
    "--stats",
    is_flag=False,
    flag_value="1",
    metavar="[FILE]",
    help="Count acquisitions: text on stderr at the end, also by Ctrl-C, or JSON in FILE.<pid>.",
)
@click.option("--verbose", is_flag=True, help="Say on stderr, from inside the program, which lock is active.")
@click.option("--preload", multiple=True, metavar="LIB", help=f"{PRELOAD_HELP} Repeatable.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def run_command(
    rwlock: str | None,
    mutex: str | None,
    wait: str | None,
    stats: str | None,
    verbose: bool,
    preload: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    """Run a program under a lock. The exit status is the program's own.

    \b
    lockswap run --rwlock bravo-ba -- ./server --port 8080
    lockswap run --mutex mcs -- ./prog              its mutexes
    lockswap run --rwlock ba --mutex mcs -- ./prog  both
    lockswap run --rwlock ba --stats -- ./prog      counts on stderr at exit
    lockswap run --rwlock none -- ./prog            as it is, without lockswap
    """
    from lockswap.base.paths import Paths
    from lockswap.run.launch import run

    run(Paths.find(), list(command), rwlock, mutex, wait, stats, verbose, preload)


@cli.command("compare", context_settings=PASS_ON, short_help="Compare locks and write a report.")
@click.option(
    "--workload",
    "-w",
    multiple=True,
    metavar="NAME",
    help="Workload; several: a,b or repeated. Default: all but the long ones.",
)
@click.option(
    "--rwlock",
    "-l",
    multiple=True,
    metavar="LOCK",
    help="Lock; several: a,b or repeated. Default: ba,bravo-ba,cohort,per-cpu,rlu. none and pthread are always there.",
)
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="LOCK",
    help="Range lock, for programs that call them; several: a,b or repeated. --against takes one as range:LOCK.",
)
@click.option(
    "--mutex",
    "-m",
    multiple=True,
    metavar="MUTEX",
    help="Mutex; several: a,b or repeated. With --rwlock: each of those with each of these. Default: where a workload "
    "takes mutexes and nothing is named, the five of the papers.",
)
@click.option("--wait", metavar="POLICY", help="How waiting threads wait: spin, yield or park (the default).")
@click.option("--threads", "-t", metavar="N,N...", help="Thread counts. Default: the workload's own.")
@click.option(
    "--repeats",
    "-r",
    type=click.IntRange(min=1),
    metavar="N",
    help="Rounds; with --until, the least number of them. Default: 7; below 6 no 95 % interval exists.",
)
@click.option(
    "--seconds", "-s", type=click.IntRange(min=1), metavar="S", help="Length of a run. Default: the workload's own."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="After so many seconds a run counts as hung.",
)
@click.option(
    "--pin",
    type=click.Choice(["compact", "scatter"]),
    help="Confine each run to as many CPUs as it has threads: neighbours, or far apart.",
)
@click.option("--preload", multiple=True, metavar="LIB", help=f"{PRELOAD_HELP} Also for none. Repeatable.")
@click.option("--numactl", default="", metavar="'ARGS'", help="Start each run through numactl with these arguments.")
@click.option(
    "--out", type=click.Path(path_type=_Path), metavar="DIR", help="The campaign's folder. Default: results/NAME."
)
@click.option("--name", metavar="CAMPAIGN", help="The campaign's name. Default: date and time.")
@click.option("--quick", is_flag=True, help="Only quick workloads, two thread counts, shorter runs, 6 rounds.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Of the order of locks in each round. Default: drawn and recorded.",
)
@click.option(
    "--metric",
    multiple=True,
    metavar="REGEX",
    help="For a command of your own: group 1 is the figure. Several are possible. Default: its time.",
)
@click.option(
    "--better",
    type=click.Choice(["higher", "lower"]),
    default="higher",
    show_default=True,
    help="Which way --metric is better.",
)
@click.option(
    "--until",
    metavar="SHARE",
    help="Go on until every 95 % interval of a rate or time reaches at most so far from its estimate, as in 5%.",
)
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    metavar="MINUTES",
    help="Begin no round after so much measuring. Default: 30 with --until, else none.",
)
@click.option(
    "--against",
    metavar="CHOICE",
    help="The baseline of the ratios: LOCK, mutex:MUTEX or LOCK+mutex:MUTEX. Default: glibc's own, preloaded.",
)
@click.option(
    "--fail-below",
    type=click.FloatRange(min=0, min_open=True),
    metavar="RATIO",
    help="Exit with 3 if a lock is shown to be below RATIO of the baseline, as in 0.97: a gate for CI.",
)
@click.option(
    "--per-cpu",
    is_flag=True,
    help="Operations per CPU second decide instead of the clock: for machines shared with others.",
)
@click.option(
    "--perf-record",
    is_flag=True,
    help="After the measured runs, one more for each figure under perf: summaries of futex calls and off-CPU time.",
)
@click.option(
    "--server",
    metavar="'CMD'",
    help="Compare a server: start this before each run of --load. {port} is a free port, {threads} a thread count.",
)
@click.option(
    "--ready",
    metavar="REGEX|PORT",
    help="The server is ready when it prints REGEX, or listens on PORT ({port}, 8080; udp:{port}). Default: {port}.",
)
@click.option("--load", metavar="'CMD'", help="What makes requests to the server; --metric looks at its output.")
@click.option("--stop", metavar="SIGNAL", help="What stops the server. Default: TERM.")
@click.option("--prepare", multiple=True, metavar="'CMD'", help="Run this before each run, not swapped. Repeatable.")
@click.option("--cleanup", multiple=True, metavar="'CMD'", help="Run this after each run, whatever became of it.")
@click.option(
    "--ready-timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="A server that is not ready by then counts as hung. Default: 30.",
)
@click.option(
    "--stop-timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="A server that does not end by then is killed and counts as hung. Default: 10.",
)
@click.option("--resume", type=click.Path(path_type=_Path), metavar="DIR", help="Go on with an interrupted campaign.")
@click.option(
    "--report/--no-report",
    "with_report",
    default=True,
    help="With or without the page and plots; 'lockswap report DIR' makes them later.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- CMD...]")
def compare_command(resume: _Path | None, with_report: bool, **options: object) -> int:
    """Compare locks on workloads, or on a command of your own, and write a report.

    \b
    lockswap compare --quick
    lockswap compare -w test-rwlock -l ba,bravo-ba -t 1,2,8
    lockswap compare -w arrbench --range list-rw,kernel-rw --against range:rwlock
    lockswap compare -w kcutiltest-cond -m mcs,clh
    lockswap compare -w test-rwlock -l ba --until 5% --against pthread --fail-below 0.97
    lockswap compare -l bravo-ba --metric 'ops/s: ([0-9.]+)' -- ./prog --threads {threads} --seconds {seconds}
    lockswap compare -l ba --server './server -p {port} -t {threads}' --load './load localhost:{port}' --metric REGEX

    Locks take turns (A B C, B C A, ...), so that a drift of the machine meets all alike. A run that crashes, hangs,
    prints a wrong result or takes no lock under test becomes a row that says so. Ctrl-C keeps what was measured.
    """
    from lockswap.campaign import compare

    if resume is not None:
        given = click.get_current_context().get_parameter_source
        others = [name for name in options if given(name) is click.core.ParameterSource.COMMANDLINE]
        if others:
            raise UserError(f"--resume takes everything from the campaign; leave {others[0]} away")
        return compare.resume(resume, with_report)
    return compare.run(_request(options), with_report)


def _request(options: dict) -> object:
    from lockswap.campaign.request import Request

    command, metrics = list(options["command"]), list(options["metric"])
    # `-- CMD... --metric REGEX` is understood as well, unless --metric was given before the command.
    if command[-2:-1] == ["--metric"] and not metrics:
        metrics = [command[-1]]
        command = command[:-2]
    return Request(
        workloads=_names(options["workload"]),
        locks=_names(options["rwlock"]),
        ranges=_names(options["ranges"]),
        mutexes=_names(options["mutex"]),
        wait=options["wait"],
        threads=_counts(options["threads"], "--threads"),
        repeats=options["repeats"],
        seconds=options["seconds"],
        timeout=options["timeout"],
        pin=options["pin"],
        numactl=options["numactl"],
        preload=list(options["preload"]),
        out=options["out"],
        name=options["name"],
        quick=options["quick"],
        seed=options["seed"],
        command=command,
        metrics=metrics,
        better=options["better"],
        until=_share(options["until"], "--until"),
        budget=options["budget"],
        against=options["against"],
        fail_below=options["fail_below"],
        per_cpu=options["per_cpu"],
        perf_record=options["perf_record"],
        ready=options["ready"],
        ready_timeout=options["ready_timeout"],
        stop=options["stop"],
        stop_timeout=options["stop_timeout"],
        server=_words(options["server"], "--server"),
        load=_words(options["load"], "--load"),
        prepare=[_words(text, "--prepare") for text in options["prepare"]],
        cleanup=[_words(text, "--cleanup") for text in options["cleanup"]],
    )


@cli.command("report", short_help="Make a campaign's report anew, or set campaigns side by side.")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=_Path), metavar="DIR [DIR...]")
@click.option(
    "--out",
    type=click.Path(path_type=_Path),
    metavar="DIR",
    help="Where to write. Default: the campaign's own folder; of several campaigns results/A-vs-B.",
)
@click.option("--silent", is_flag=True, help="Print only where the report is.")
def report_command(folders: tuple[_Path, ...], out: _Path | None, silent: bool) -> None:
    """Make a campaign's page, plots, CSV and JSON anew from its raw data. Of several campaigns: how the ratios changed
    from the first to each other one, and what else differs between them.

    \b
    lockswap report results/2026-11-six-locks
    lockswap report results/before results/after --out /tmp/compared
    """
    if len(folders) > 1:
        _side_by_side(list(folders), out, silent)
        return
    from lockswap.findings import reading
    from lockswap.report import terminal, writer

    findings = reading.read(folders[0])
    page = writer.write(findings, out)
    if silent:
        print(page)
    else:
        terminal.show(findings, page)


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
@click.option("--fail-on-findings", is_flag=True, help="Exit with 3 if there is something to look at: a gate for CI.")
@click.option("--preload", multiple=True, metavar="LIB", help=f"{PRELOAD_HELP} Repeatable.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def audit_command(
    as_json: bool, out: _Path | None, fail_on_findings: bool, preload: tuple[str, ...], command: tuple[str, ...]
) -> int:
    """Run a program on glibc's own locks, and say what matters before they are swapped. It ends with "safe", or with
    what to look at. The exit status is the program's own.

    \b
    lockswap audit -- ./server --port 8080
    lockswap audit --json --out audit.json -- ./prog
    lockswap audit --fail-on-findings -- make check

    All processes that the program starts are looked at, but for static, setuid and foreign ones.
    """
    from lockswap.audit import audit
    from lockswap.base.paths import Paths

    return audit.run(Paths.find(), list(command), as_json, out, fail_on_findings, preload)


def _names(values: tuple[str, ...]) -> list[str]:
    """Names given as `--x a,b` or `--x a --x b`."""
    return [name for value in values for name in (part.strip() for part in value.split(",")) if name]


def _share(text: str | None, option: str) -> float | None:
    """'5%' and '0.05' are the same."""
    if text is None:
        return None
    try:
        value = float(text.rstrip("% ")) / 100 if text.rstrip().endswith("%") else float(text)
    except ValueError:
        value = 0.0
    if not 0.001 <= value <= 1:
        raise UserError(f"{option}: '{text}' is no share from 0.1% to 100%; write it as 5%")
    return value


def _words(text: str | None, option: str) -> list[str]:
    """A command that was given as one argument; no shell looks at it."""
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f"{option} '{text}': {error}") from None
    if not words:
        raise UserError(f"{option}: there is no command in it")
    return words


def _counts(text: str | None, option: str) -> list[int] | None:
    if text is None:
        return None
    try:
        counts = [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option}: '{text}' is not a list of numbers; write it as 1,2,4,8") from None
    if min(counts) < 1:
        raise UserError(f"{option}: every count must be 1 or more")
    return list(dict.fromkeys(counts))
