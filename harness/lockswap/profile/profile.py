"""`lockswap profile`: run a program, and say which of its locks hurt."""

import contextlib
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import chosen
from lockswap.base.text import as_word, in_seconds, words
from lockswap.profile import background, deadlocks, diff, diff_report, output, recording, report, summary
from lockswap.profile import look as live
from lockswap.profile.window import difference
from lockswap.run import extra_preload, passing_on, preload_order, program, sanitizer
from lockswap.run.ended import Ended
from lockswap.run.preload import STRICT, clean_environment, ld_preload

_LEAST_ROOM = 1 << 20  # bytes; a recording begins with 0.75 of them
_NOTHING = "no process that was started took the library, or could make its file"


@dataclass(frozen=True)
class Run:
    """What is known of a run beside what its processes left; of recorded files nothing."""

    command: list[str]
    status: int | None = None
    wall_s: float | None = None
    cpu_s: float | None = None
    slept: int | None = None  # how often threads did, of all its processes
    ended_ns: dict[int, int] = field(default_factory=dict)  # by process, where it is known
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
    first = [*sanitizer.runtimes(command), *extra_preload.first(preload_first)]
    _make(out)
    env = _environment(paths, rwlock, mutex, first)
    env |= sanitizer.variables(env, command)
    warnings = [*program.hindrances(Path(path)), *preload_order.warnings(env["LD_PRELOAD"], paths.library)]
    warnings += sanitizer.warnings(command) if rwlock or mutex else []
    for warning in warnings:
        print(f"lockswap: warning: {warning}", file=sys.stderr)
    folder = Path(tempfile.mkdtemp(prefix="lockswap-profile-")) if out is None else out.absolute()
    env["LOCKSWAP_PROFILE"] = str(folder)
    still_run: list[int] = []
    try:
        begin = time.monotonic()
        began_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        done = _run(path, command, env)
        followed = background.follow(folder, Path(command[0]).name, began_s)
        still_run = followed.still_run
        if followed.ended_ns or still_run:
            assert done.cpu_s is not None
            done = replace(
                done,
                wall_s=time.monotonic() - begin,
                cpu_s=done.cpu_s + followed.cpu_s,
                ended_ns=done.ended_ns | followed.ended_ns,
            )
        if not any(folder.glob(f"*{recording.SUFFIX}")):
            _refuse_full_disk(folder, out)
        _show(reader, folder, done, top, out)
    finally:
        if still_run:
            _say_what_records(still_run, folder)
        elif out is None:
            shutil.rmtree(folder, ignore_errors=True)
    assert done.status is not None
    return done.status


def _refuse_full_disk(folder: Path, out: Path | None) -> None:
    disk = os.statvfs(folder)
    free = disk.f_bavail * disk.f_frsize
    if free > _LEAST_ROOM:
        return
    _remove_empty(out)
    cure = "make room, or name a folder elsewhere by " + ("TMPDIR" if out is None else "-o")
    raise UserError(f"nothing was recorded: there is no room in {folder} ({free // 1024} kB are free); {cure}")


def _remove_empty(out: Path | None) -> None:
    if out is not None:
        with contextlib.suppress(OSError):
            out.rmdir()


def _say_what_records(pids: list[int], folder: Path) -> None:
    what = f"process {pids[0]} goes" if len(pids) == 1 else f"processes {words(pids)} go"
    print(
        f"lockswap profile: {what} on, and {'records' if len(pids) == 1 else 'record'} in {folder}: "
        f"`lockswap report {as_word(folder)}` shows it, `lockswap why {pids[0]}` who waits",
        file=sys.stderr,
    )


def read(paths: Paths, folder: Path, top: int, out: Path | None) -> int:
    """The profile of what was recorded in a folder; its files are written to `out`, or there."""
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder; name one that LOCKSWAP_PROFILE or 'profile -o' named")
    if not any(folder.glob(f"*{recording.SUFFIX}")):
        raise UserError(f"{folder}: it has no recording (*{recording.SUFFIX}); name another folder")
    _make(out)
    _show(paths.profile_reader, folder, Run([]), top, out or folder)
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
        last = live.look(paths, pid, with_history=True)
    except UserError as error:
        raise UserError(
            f"{error}; it ran for less than {in_seconds(seconds)}; "
            "`lockswap report DIR` shows it if it recorded into DIR"
        ) from error
    if last is None:
        raise UserError(f"process {pid} has taken no lock; try again later")
    if first is not None and first.recording != last.recording:
        raise UserError(f"process {pid} has executed another program meanwhile; try again")
    process = difference(first.process, last.process) if first is not None else last.process
    process |= {
        "deadlocks": deadlocks.circles(process),
        "runs": True,
        "begin_ns": begin_ns,
        "end_ns": time.monotonic_ns(),
    }
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
            raise UserError(f"{folder}: there is no profile; name two folders that 'lockswap profile -o' wrote")
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


def show(paths: Paths, folders: tuple[Path, ...], out: Path | None, top: int | None, as_json: bool) -> int:
    """Shows a recorded profile again, or how a second one differs from it."""
    if len(folders) > 2:
        raise UserError("profiles are compared two at a time; name two folders")
    if len(folders) == 2:
        return compare(paths, *folders, top or 20, out, as_json)
    if as_json:
        raise UserError("--json prints the differences of two profiles; for one profile read its profile.json")
    return read(paths, folders[0], top or 20, out)


def _make(out: Path | None) -> None:
    if out is None:
        return
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"-o {out}: it exists and is not an empty folder; name a new one")
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
            raise UserError("a profile needs the library; drop the option to run on glibc's locks")
        env |= choice.variables | {STRICT: "1"}
    env["LD_PRELOAD"] = ld_preload(paths.library, env.get("LD_PRELOAD", ""), before=first)
    return env


def _run(path: str, command: list[str], env: dict[str, str]) -> Run:
    before, begin = _used(), time.monotonic()
    child = passing_on.run(path, command, env)
    end_ns = time.monotonic_ns()
    wall = time.monotonic() - begin
    cpu, slept = (after - first for after, first in zip(_used(), before, strict=True))
    shell_status = Ended(command, child.returncode).shell_status
    return Run(command, shell_status, wall, cpu, int(slept), {child.pid: end_ns}, child.returncode)


def _used() -> tuple[float, int]:
    """By processes that have ended: processor time, and how often they gave a processor up by themselves."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, used.ru_nvcsw


def _show(reader: Path, folder: Path, run_: Run, top: int, out: Path | None) -> None:
    recorded = recording.read(reader, sorted(folder.glob(f"*{recording.SUFFIX}")))
    for process in recorded["processes"]:
        process["deadlocks"] = deadlocks.circles(process)
    _note_ends(recorded["processes"], folder, run_)
    if run_.raw_status is not None:
        seen = frozenset(one["program"] for one in recorded["processes"])
        run_ = replace(run_, ended=Ended(run_.command, run_.raw_status, seen=seen).in_words())
    _print(summary.summarise(recorded, run_), top, out)


def _note_ends(processes: list[dict], folder: Path, run_: Run) -> None:
    """Notes which processes are still running, and when others ended that could not say so themselves.

    A process that calls exec has several recordings, and ends in the last of them.
    """
    last = {one["pid"]: one for one in sorted(processes, key=lambda one: one["started_ns"])}
    for one in last.values():
        if one["ended"]:
            continue
        if live.records_in(one["pid"], folder):
            one["runs"] = True
        elif one["pid"] in run_.ended_ns:
            one["exit_ns"] = run_.ended_ns[one["pid"]]


def _print(profile: summary.Profile, top: int, out: Path | None) -> None:
    if not profile.processes:
        print(f"lockswap profile: nothing was recorded: {profile.run.ended or _NOTHING}", file=sys.stderr)
        _remove_empty(out)
        return
    text = report.as_text(profile, top)
    print(text, file=sys.stderr, end="")
    if out is not None:
        output.write(profile, text, out)
        print(f"lockswap profile: profile.html and the data are in {out}", file=sys.stderr)
