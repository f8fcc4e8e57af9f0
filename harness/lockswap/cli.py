"""The command line: its groups of commands, and what `lockswap --help` says. Each command is in `commands/`."""

from __future__ import annotations

import click

from lockswap.base.version import VERSION
from lockswap.campaign.headings import HeadedGroup
from lockswap.commands import (
    advise,
    audit,
    compare,
    completion,
    doctor,
    export,
    fuzz,
    list,
    machine,
    metrics,
    off,
    options,
    paper,
    policy,
    predict,
    profile,
    record,
    report,
    run,
    service,
    top,
    trace_vm,
    whatif,
    why,
)

# How `lockswap --help` lists the commands.
TASKS = {
    "Try other locks": ["run", "compare", "report", "export", "list"],
    "Find the lock that makes a program slow": ["profile", "top", "whatif", "advise", "policy"],
    "Find out why a program hangs, or might": ["why", "audit", "fuzz"],
    "Use it in production": ["doctor", "service", "off", "metrics"],
    "Research": ["paper", "predict", "machine", "record", "trace-vm"],
    "Set up a shell": ["completion"],
}


@click.group(cls=HeadedGroup, headings=TASKS, context_settings=options.SETTINGS)
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


for _command in (
    advise.advise_command,
    audit.audit_command,
    compare.compare_command,
    completion.completion_command,
    doctor.doctor_command,
    export.export_command,
    fuzz.fuzz_command,
    list.list_command,
    machine.machine_command,
    metrics.metrics_command,
    off.off_command,
    paper.paper_command,
    policy.policy_group,
    predict.predict_command,
    profile.profile_command,
    record.record_command,
    report.report_command,
    run.run_command,
    service.service_group,
    top.top_command,
    trace_vm.trace_vm_command,
    whatif.whatif_command,
    why.why_command,
):
    cli.add_command(_command)
