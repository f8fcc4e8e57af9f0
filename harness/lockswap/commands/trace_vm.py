"""`lockswap trace-vm`."""

from __future__ import annotations

from pathlib import Path

import click

from lockswap.commands import options
from lockswap.commands.options import PASS_ON


@click.command("trace-vm", context_settings=PASS_ON, short_help="Record mapping calls and page faults, to replay them.")
@click.option(
    "--out",
    "-o",
    type=click.Path(path_type=Path),
    default=Path("program.vmtrace"),
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
@options.command
def trace_vm_command(out: Path, synthesise: bool, processes: bool, command: tuple[str, ...]) -> int:
    """Record which mapping calls each thread of a program makes (by strace) and which pages it touches (by perf). The
    program `address_space` replays the trace. The exit status is the program's own.

    \b
    lockswap trace-vm -o sort.vmtrace -- sort --parallel=4 words
    build/apps/address_space --trace sort.vmtrace --design list-pages

    A trace covers one address space: the started process's, after its last exec. A trace made with --processes is
    for `ldubench --trace`. See structures/docs/address-spaces.md.
    """
    from lockswap.vm import trace_vm

    return trace_vm.run(list(command), out, synthesise, processes)
