"""`lockswap audit`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("audit", context_settings=PASS_ON, short_help="Check how a program uses its locks: is a swap safe?")
@click.option("--json", "as_json", is_flag=True, help="Report as JSON.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
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
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write the findings to FILE as JUnit XML, for CI systems.",
)
@options.preload
@options.preload_first
@options.command
def audit_command(
    as_json: bool,
    out: Path | None,
    fail_on_findings: bool,
    junit: Path | None,
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
