"""`lockswap trace-vm`: record a program's mapping calls and page faults."""

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.files import check_can_be_written
from lockswap.run import program
from lockswap.run.passing_on import passing_on
from lockswap.vm import faults, processes, strace_log, trace_file
from lockswap.vm.steps import Trace, convert

_CALLS = ("map", "unmap", "protect", "discard", "brk", "fork")


def run(command: list[str], out: Path, synthesise: bool, all_processes: bool = False) -> int:
    """Returns the program's exit status; 128 + N after signal N."""
    strace = shutil.which("strace")
    if strace is None:
        raise UserError("trace-vm needs strace, which is not installed; install it with 'apt-get install strace'")
    check_can_be_written("--out", out)
    path = program.resolve(command[0])
    with tempfile.TemporaryDirectory(prefix="lockswap-trace-") as name:
        folder = Path(name)
        log = folder / "calls"
        line, why = (None, "--synthesise was given") if synthesise or all_processes else faults.recorder(folder)
        # path: the program itself; what it reads as its name is this, too.
        traced = [*(line or []), strace, *_options(log), "--", path, *command[1:]]
        with passing_on() as passed:
            status = passed.start(traced).wait()
        try:
            with log.open(errors="surrogateescape") as opened:
                events = strace_log.read(opened)
            found = None if line is None else faults.read(folder)
        except FileNotFoundError as error:
            raise UserError("strace wrote nothing; its message is above") from error
        except (ValueError, subprocess.CalledProcessError) as error:
            raise UserError(f"the recording cannot be read: {error}") from error
    if not any(isinstance(event, strace_log.Call) for event in events):
        raise UserError("strace recorded no call; it may not trace programs here")
    try:
        converted = processes.convert(events) if all_processes else convert(events, found)
    except (IndexError, KeyError, ValueError) as error:
        raise UserError(f"the recording has a call that cannot be read: {error}") from error
    if isinstance(converted, processes.ProcessTrace):
        _write_processes(out, converted, command)
        return status if status >= 0 else 128 - status
    trace = converted
    if found is None:
        trace.notes.insert(0, f"first touches are synthesised: {why}")
    trace_file.write(out, trace, command)
    _say(trace, out)
    return status if status >= 0 else 128 - status


def _write_processes(out: Path, trace: processes.ProcessTrace, command: list[str]) -> None:
    trace_file.write_lines(out, trace.lines(command))
    kinds = Counter(step.split()[0] for step in trace.steps)
    steps = ", ".join(f"{kinds[kind]} {kind}" for kind in ("fork", "exec", "map", "unmap") if kinds[kind])
    print(
        f"lockswap trace-vm: {out}: processes: {trace.processes}; files: {trace.files}; {steps}",
        file=sys.stderr,
    )


def _options(log: Path) -> list[str]:
    calls = ",".join(strace_log.WATCHED)
    times = ("--absolute-timestamps=unix,ns", "--syscall-times=ns")
    return ["-f", "-q", "-y", *times, "-e", "signal=none", "-e", f"trace={calls}", "-o", str(log)]


def _say(trace: Trace, out: Path) -> None:
    kinds = Counter(step.kind for step in trace.steps)
    touched = sum(step.end - step.start for step in trace.steps if step.kind in ("read", "write"))
    calls = ", ".join(f"{kinds[kind]} {kind}" for kind in _CALLS if kinds[kind])
    print(f"lockswap trace-vm: {out}: threads: {trace.threads}; {calls}; faults: {touched}", file=sys.stderr)
    for note in trace.notes:
        print(f"lockswap trace-vm: {note}", file=sys.stderr)
