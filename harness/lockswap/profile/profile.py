"""`lockswap profile`: run a program, and say which of its locks hurt."""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import chosen
from lockswap.profile import diff, diff_report, output, recording, report, summary
from lockswap.profile import look as live
from lockswap.profile.window import difference
from lockswap.run import extra_preload, preload_order, program, sanitizer
from lockswap.run.ended import Ended
from lockswap.run.passing_on import passing_on
from lockswap.run.preload import STRICT, clean_environment, ld_preload

_NOTHING = "no process that was started took the library, or could make its file"


@dataclass(frozen=True)
class Run:
    """What is known of a run beside what its processes left; of recorded files nothing."""

    command: list[str]
    status: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    slept: int | None = None  # how often threads did, of all its processes
    pid: int | None = None  # of the program itself
    end_ns: int | None = None  # when that ended
    raw_status: int | None = None  # as subprocess has it
    ended: str = ""  # in a clause, how it ended, if not well


def run(
    paths: Paths,
    command: list[str],
    top: int,
    out: Path | None,
    rwlock: str | None = None,
    mutex: str | None = None,
    preload_first: Sequence[str] = (),
) -> int:
    """Returns the program's exit status (128 + N after signal N)."""
    path = program.resolve(command[0])
    reader = paths.profile_reader
    first = [*sanitizer.runtimes(command), *extra_preload.resolve(preload_first)]
    _make(out)
    env = _environment(paths, rwlock, mutex, first)
    env |= sanitizer.variables(env, command)
    warnings = [*program.hindrances(Path(path)), *preload_order.warnings(env["LD_PRELOAD"], paths.library)]
    warnings += sanitizer.warnings(command) if rwlock or mutex else []
    for warning in warnings:
        print(f"lockswap: warning: {warning}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="lockswap-profile-") as folder:
        env["LOCKSWAP_PROFILE"] = folder if out is None else str(out.absolute())
        done = _run(path, command, env)
        _show(reader, Path(env["LOCKSWAP_PROFILE"]), done, top, out)
    assert done.status is not None
    return done.status


def read(paths: Paths, folder: Path, top: int) -> int:
    """The profile of what LOCKSWAP_PROFILE has recorded in a folder; its files are written there."""
    if not folder.is_dir():
        raise UserError(f"--from {folder}: there is no such folder; name one that LOCKSWAP_PROFILE named")
    if not any(folder.glob(f"*{recording.SUFFIX}")):
        raise UserError(f"--from {folder}: no process has left a profile there (*{recording.SUFFIX})")
    _show(paths.profile_reader, folder, Run([]), top, folder)
    return 0


def watch(paths: Paths, pid: int, seconds: float, top: int, out: Path | None) -> int:
    """The profile of some seconds of a process that runs."""
    _make(out)
    first = live.look(paths, pid)
    before, begin = live.cpu_seconds(pid), time.monotonic()
    slept = live.sleeps(pid)
    begin_ns = time.monotonic_ns()
    time.sleep(seconds)
    try:
        last = live.look(paths, pid)
    except UserError as error:
        raise UserError(
            f"{error}; it ran for less than {seconds:g} s, `lockswap profile --from DIR` has all"
        ) from error
    if last is None:
        raise UserError(f"process {pid} has taken no lock")
    if first is not None and first.recording != last.recording:
        raise UserError(f"process {pid} has begun another program meanwhile; ask again")
    process = difference(first.process, last.process) if first is not None else last.process
    process |= {"runs": True, "begin_ns": begin_ns, "end_ns": time.monotonic_ns()}
    wall = time.monotonic() - begin
    slept_meanwhile = sum(max(0, n - slept.get(tid, 0)) for tid, n in live.sleeps(pid).items())
    run_ = Run([last.process["program"]], None, wall, live.cpu_seconds(pid) - before, slept_meanwhile)
    recorded = {"processes": [process], "threshold_ns": last.threshold_ns}
    _print(summary.summarise(recorded, run_), top, out)
    return 0


def compare(paths: Paths, before: Path, after: Path, top: int, out: Path | None, as_json: bool) -> int:
    """Prints on stdout what got better or worse."""

    def recorded(folder: Path) -> dict:
        files = sorted(folder.glob(f"*{recording.SUFFIX}"))
        if not files:
            raise UserError(f"--diff {folder}: there is no profile; name two folders that -o wrote")
        return output.as_data(summary.summarise(recording.read(paths.profile_reader, files), Run([])))

    _make(out)
    found = diff.compare(diff.load(before, recorded), diff.load(after, recorded))
    text = diff_report.as_text(found, top)
    data = json.dumps(diff_report.as_data(found), indent=1) + "\n"
    print(data if as_json else text, end="")
    if out is not None:
        (out / "diff.json").write_text(data, encoding="utf-8")
        (out / "diff.html").write_text(diff_report.page(found, text), encoding="utf-8")
    return 0


def _make(out: Path | None) -> None:
    if out is None:
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"-o {out}: it exists and is no empty folder; name a new one")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        cure = "" if out.parent.is_dir() else f"; there is no folder {out.parent}, make it first"
        raise UserError(f"-o {out}: cannot be made: {error.strerror}{cure}") from error


def _environment(paths: Paths, rwlock: str | None, mutex: str | None, first: Sequence[str]) -> dict[str, str]:
    """Locks are those that the options name, else those that the user's environment names."""
    env = clean_environment(os.environ)
    if rwlock is not None or mutex is not None:
        for key in ("LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX", "LOCKSWAP_POLICY"):
            env.pop(key, None)
        choice = chosen(Registry.load(paths), rwlock, mutex)
        if not choice.variables:
            raise UserError("a profile needs the library; leave the option away, and the locks are glibc's")
        env |= choice.variables | {STRICT: "1"}
    env["LD_PRELOAD"] = ld_preload(paths.library, env.get("LD_PRELOAD", ""), before=first)
    return env


def _run(path: str, command: list[str], env: dict[str, str]) -> Run:
    before, begin = _used(), time.monotonic()
    try:
        child = subprocess.Popen(command, executable=path, env=env)
    except OSError as error:
        raise UserError(program.cannot_start(command[0], path, error)) from error
    with passing_on(child):
        status = child.wait()
    end_ns = time.monotonic_ns()
    wall = time.monotonic() - begin
    cpu, slept = (after - first for after, first in zip(_used(), before, strict=True))
    shell_status = Ended(command, status).shell_status
    return Run(command, shell_status, wall, cpu, int(slept), child.pid, end_ns, status)


def _used() -> tuple[float, int]:
    """By processes that have ended: processor time, and how often they gave a processor up by themselves."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_nvcsw


def _show(reader: Path, folder: Path, run_: Run, top: int, out: Path | None) -> None:
    recorded = recording.read(reader, sorted(folder.glob(f"*{recording.SUFFIX}")))
    _note_ends(recorded["processes"], folder, run_)
    if run_.raw_status is not None:
        seen = frozenset(one["program"] for one in recorded["processes"])
        run_ = replace(run_, ended=Ended(run_.command, run_.raw_status, seen=seen).in_words())
    _print(summary.summarise(recorded, run_), top, out)


def _note_ends(processes: list[dict], folder: Path, run_: Run) -> None:
    """Of processes that did not come to their end by themselves: some run still, and of one it is known when it ended.

    What calls exec has several recordings, and ends in the last of them.
    """
    last = {one["pid"]: one for one in sorted(processes, key=lambda one: one["started_ns"])}
    for one in last.values():
        if one["ended"]:
            continue
        if live.records_in(one["pid"], folder):
            one["runs"] = True
        elif one["pid"] == run_.pid:
            one["exit_ns"] = run_.end_ns


def _print(profile: summary.Profile, top: int, out: Path | None) -> None:
    if not profile.processes:
        print(f"lockswap profile: nothing was recorded: {profile.run.ended or _NOTHING}", file=sys.stderr)
        if out is not None:
            with contextlib.suppress(OSError):
                out.rmdir()  # it is empty
        return
    text = report.as_text(profile, top)
    print(text, file=sys.stderr, end="")
    if out is not None:
        output.write(profile, text, out)
        print(f"lockswap profile: profile.html and the data are in {out}", file=sys.stderr)
