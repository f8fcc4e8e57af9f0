"""What a running process says: whether the library is loaded, what it does there, and what bypasses it."""

import datetime
from pathlib import Path

from lockswap.base.errors import UserError, no_process
from lockswap.base.paths import Paths
from lockswap.base.process import folder_of
from lockswap.base.text import plural
from lockswap.doctor import bound, futexes
from lockswap.doctor.asked import Memory, WhatRuns
from lockswap.doctor.finding import Finding, note, ok, stops
from lockswap.doctor.inside import LIBRARY, Inside
from lockswap.outside.target import is_libc
from lockswap.run import executable

_MOST_NAMES = 4


def findings(paths: Paths, pid: int) -> list[Finding]:
    if not Path(f"/proc/{pid}").is_dir():
        raise no_process(pid)
    try:
        inside = Inside(pid)
    except UserError as error:
        return [stops("process", str(error))]
    found = without(inside, paths.library) if not inside.libraries else within(inside, paths)
    return [*found, *filtered(inside), *rooted(inside, paths.library)]


def within(inside: Inside, paths: Paths) -> list[Finding]:
    """The library is loaded."""
    found = [ok("loaded", f"'{inside.program}' (process {inside.pid}) has loaded {inside.libraries[0]}")]
    found += [note("loaded", f"it is loaded {len(inside.libraries)} times; the first copy does all")] * (
        len(inside.libraries) > 1
    )
    try:
        with Memory(inside.pid) as memory:
            runs = inside.ask(memory)
            found += chosen(inside, runs)
            if runs is not None:
                found += past_it(inside, memory, runs)
    except OSError:
        found += by_environment(inside)
    return [*found, *recorded(paths, inside), *own_locks(inside), *beside(inside)]


def without(inside: Inside, library: Path) -> list[Finding]:
    """Why the library isn't there, as far as can be seen."""
    from lockswap.audit import elf

    who = f"'{inside.program}' (process {inside.pid})"
    if inside.observers:
        return [note("loaded", f"{who} runs with {inside.observers[0]}, on glibc's own locks")]
    reasons = elf.hindrances(inside.executable)
    if inside.is_secure():
        reasons.append(
            "it has more rights than its user (setuid, file capabilities, or a change of its security domain), so the "
            "loader ignored LD_PRELOAD: start it without these"
        )
    asked = inside.environment().get("LD_PRELOAD", "")
    if not reasons and library.name in asked:
        path = next(one for one in asked.replace(":", " ").split() if library.name in one)
        visible = not path.startswith("/") or inside.file(path).is_file()
        reasons.append(
            f"LD_PRELOAD names {path}, but the loader did not take it; its message on stderr says why"
            if visible
            else f"LD_PRELOAD names {path}, which is not there in the root of the process: put the library inside"
        )
    if not reasons:
        reasons.append("it was started without: use 'lockswap run -- CMD', or 'lockswap service enable UNIT'")
    return [stops("loaded", f"{who} runs without lockswap: {reason}") for reason in reasons]


def chosen(inside: Inside, runs: WhatRuns | None) -> list[Finding]:
    if runs is None:
        return [
            note("choice", "the library there is another version than this command's, so it can't be asked"),
            *by_environment(inside),
        ]
    found = [ok("choice", f"it uses {_after_colon(runs.choice)} since {_time(inside.started())}")]
    if runs.off_since:
        when = _time(runs.off_since)
        found.append(stops("off", f"it was switched off at {when}: new locks are glibc's; restart it to switch it on"))
    if not (runs.swaps_rwlocks or runs.swaps_conds):
        found.append(stops("choice", "nothing is swapped: set LOCKSWAP_RWLOCK or LOCKSWAP_MUTEX, and restart it"))
    return found


def by_environment(inside: Inside) -> list[Finding]:
    """Where its memory may not be read."""
    said = [f"{key}={value}" for key, value in inside.environment().items() if key.startswith("LOCKSWAP_")]
    text = ", ".join(said) or "no LOCKSWAP_ variable"
    return [note("choice", f"it was started with {text}; ask as root to see what runs")]


def past_it(inside: Inside, memory: Memory, runs: WhatRuns) -> list[Finding]:
    found = []
    for one in bound.bypasses(inside, memory, runs):
        name = Path(one.module).name
        if is_libc(one.to):
            why = (
                "opened with RTLD_DEEPBIND, or dlmopen: its own locks are glibc's, and one that it shares with the "
                "rest of the program excludes nobody; open it without"
            )
        else:
            why = "which is preloaded before lockswap; put it behind, or leave one of the two out"
        found.append(stops("bypassed", f"{name} calls {one.function} of {Path(one.to).name}, {why}"))
    return found


def own_locks(inside: Inside) -> list[Finding]:
    found = []
    for caller, threads in futexes.own_waits(inside).most_common(_MOST_NAMES):
        who = "code that calls syscall()" if caller == "syscall()" else Path(caller).name
        found.append(
            note(
                "futex",
                f"{plural(threads, 'thread')} sleep{'s' * (threads == 1)} in a futex call of {who}: "
                "it makes locks of its own, which lockswap never sees",
            )
        )
    return found


def recorded(paths: Paths, inside: Inside) -> list[Finding]:
    """Which locks it has, if it is recorded."""
    from lockswap.profile.look import look
    from lockswap.profile.summary import LOCKS, is_probe

    try:
        seen = look(paths, inside.pid)
    except UserError:
        text = "which locks it has isn't recorded: 'lockswap top PID' shows those that threads wait for"
        return [note("locks", text.replace("PID", str(inside.pid)))]
    listed = [] if seen is None else [one for one in seen.process["locks"] if not is_probe(seen.process, one)]
    kinds = {kind: sum(one["kind"] == kind for one in listed) for kind in LOCKS}
    text = " and ".join(plural(count, kind) for kind, count in kinds.items() if count) or "no lock"
    return [ok("locks", f"it has used {text} so far, by the place that made them: 'lockswap top {inside.pid}'")]


def beside(inside: Inside) -> list[Finding]:
    """Other libraries in it that matter."""
    found = []
    if any(Path(path).name.startswith("libtsan") for path in inside.begins):
        found.append(
            stops(
                "sanitizer",
                "it runs with ThreadSanitizer, which reports what swapped locks protect as data races: "
                "look for races with glibc's locks",
            )
        )
    preloaded = inside.environment().get("LD_PRELOAD", "").replace(":", " ").split()
    others = [one for one in preloaded if not (Path(one).name.startswith(LIBRARY) or executable.is_runtime(one))]
    if others:
        found.append(note("preload", f"also preloaded: {', '.join(others)}"))
    return found


def filtered(inside: Inside) -> list[Finding]:
    mode = inside.status("Seccomp")
    if mode not in ("1", "2"):
        return []
    return [
        note(
            "seccomp",
            "its system calls are filtered (seccomp): the filter must allow those of docs/production.md, section "
            "'Filters and sandboxes'; SystemCallFilter=@system-service does",
        )
    ]


def rooted(inside: Inside, library: Path) -> list[Finding]:
    """A chroot, or a container seen from outside."""
    root = folder_of(inside.pid) / "root"
    try:
        if root.samefile("/") or inside.libraries:
            return []
    except OSError:
        return []
    if inside.file(str(library)).is_file():
        return []
    return [note("root", f"its root is another one, in which there is no {library}: put the library there")]


def _after_colon(choice: str) -> str:
    return choice.partition(": ")[2] or choice


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")
