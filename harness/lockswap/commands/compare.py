"""`lockswap compare`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.base.errors import UserError
from lockswap.campaign import request
from lockswap.campaign.headings import HeadedCommand, HeadedOption
from lockswap.commands import options
from lockswap.commands.options import PASS_ON, nothing_beside_resume


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


@click.command(
    "compare",
    cls=HeadedCommand,
    words=_compared_by_default,
    context_settings=PASS_ON,
    short_help="Measure locks against each other and write a report.",
)
@request.with_options
@options.resume("campaign")
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
def compare_command(resume: Path | None, with_report: bool, verbose: bool, **options: object) -> int:
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
        nothing_beside_resume(options)
        scheduler = options["scheduler"]
        return compare.resume(resume, with_report, verbose, scheduler if isinstance(scheduler, str) else None)
    return compare.run(request.Request.from_command_line(options), with_report, verbose)
