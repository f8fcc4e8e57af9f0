"""Runs a program once as it is, then under one seed after the other, and the seed that fails again."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import chosen
from lockswap.base.text import in_seconds, plural, words
from lockswap.fuzz import serial as of_serial
from lockswap.fuzz import steps
from lockswap.fuzz.outcome import Outcome, failure, passed_over
from lockswap.fuzz.serial import Serial
from lockswap.fuzz.watch import Watch, Watching
from lockswap.run import children, executable, extra_preload, program, sanitizer
from lockswap.run.ended import Ended
from lockswap.run.passing_on import held, start
from lockswap.run.preload import clean_environment, ld_preload, lock_variables

FOUND = 3  # as audit's --fail-on-findings
_UNDISTURBED_SECONDS = 600.0
_SAY_AFTER_S = 10.0
# As little as can be: what a program's children do in such a run is its own.
_WITHOUT_DELAYS = "0,percent=1,delay=1,budget=1,no-turns"
_MOST_AGAIN_S = 600.0  # for runs of the seed that has failed


@dataclass(frozen=True)
class Request:
    command: list[str]
    seed: int | None
    runs: int
    again: int
    timeout: float | None
    same_output: bool
    spurious: bool
    serial: bool
    percent: int | None
    delay_us: int | None
    budget_ms: int | None
    rwlock: str | None
    mutex: str | None
    preload: Sequence[str]
    preload_first: Sequence[str]
    as_json: bool


def run(paths: Paths, request: Request) -> int:
    """Returns 0: no run failed; FOUND: one did, or the undisturbed one."""
    path = program.resolve(request.command[0])
    hindrances = program.hindrances(Path(path))
    for hindrance in hindrances:
        print(f"lockswap: warning: {hindrance}", file=sys.stderr)
    # A script's shell can be disturbed; what it warns of is that the shell is, too.
    reached = not hindrances or not _is_elf_file(path)
    plain = _environment(paths, request)
    disturbed = dict(plain, LD_PRELOAD=_with_fuzz(paths, plain["LD_PRELOAD"]))
    first = request.seed if request.seed is not None else random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory(prefix="lockswap-fuzz-") as folder:
        return _search(request, path, reached, first, plain, disturbed, Path(folder) / "live")


@contextmanager
def _said_after(seconds: float, limit_s: float) -> Iterator[None]:
    """A line for those who wait for the undisturbed run, of which nothing is known yet."""
    line = (
        f"lockswap fuzz: still in the run without delays, which may take {in_seconds(limit_s)}; --timeout changes that"
    )
    timer = threading.Timer(seconds, lambda: print(line, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _search(
    request: Request,
    path: str,
    reached: bool,
    first: int,
    plain: dict[str, str],
    disturbed: dict[str, str],
    table: Path,
) -> int:
    limit_s = request.timeout or _UNDISTURBED_SECONDS
    watch = Watching(table, None, limit_s, 0.0)
    with _said_after(_SAY_AFTER_S, limit_s):
        undisturbed = _one(request.command, path, plain, watch)
    if undisturbed.status == 2 and b"lockswap: " in undisturbed.stderr:
        raise UserError(undisturbed.stderr.decode(errors="replace").strip().removeprefix("lockswap: "))
    start = Ended(request.command, undisturbed.status, stderr=undisturbed.stderr.decode(errors="replace"))
    if start.is_never_started:
        raise UserError(f"nothing was run: {start.in_words()}")
    wrong = failure(undisturbed, undisturbed, False)
    if wrong is not None:
        return _say(request, {"seed": None, "failure": wrong, "runs": 0}, undisturbed)
    serial: Serial | None = None

    @lru_cache
    def usual_crashes() -> Counter[int]:
        env = disturbed | {"LOCKSWAP_FUZZ": f"{_WITHOUT_DELAYS},live={table}"}
        seen = _one(request.command, path, env, Watching(table, None, request.timeout, undisturbed.seconds, False))
        return Counter(child.signal for child in seen.crashed)

    def fails(seen: Outcome) -> str | None:
        wrong = failure(seen, undisturbed, request.same_output)
        return wrong or (passed_over(seen, usual_crashes()) if seen.crashed else None)

    def once(seed: int, words_: list[str], with_places: bool = True) -> Outcome:
        env = _seeded(disturbed, request, seed, table, words_)
        log = serial.log if serial is not None else None
        watch = Watching(table, log, request.timeout, undisturbed.seconds, with_places)
        return _one(request.command, path, env, watch)

    others: Counter[int] = Counter()  # exit statuses that are not the undisturbed run's
    if request.serial:
        serial = Serial(table.with_name("steps"), table.with_name("schedule"), once, fails)
        seen = serial.measure()
        if (wrong := fails(seen)) is not None:
            found = {"seed": first, "failure": wrong, "runs": 0, "again": 0, "of": 0}
            found["order"] = serial.explain([], wrong, request.again)
            return _say(request, found, seen)
    for number in range(request.runs):
        seed = first + number
        said = serial.words() if serial is not None else []
        seen = once(seed, said)
        wrong = fails(seen)
        if wrong is None:
            others.update([seen.status] if seen.status not in (None, undisturbed.status) else [])
            continue
        turns = steps.read(serial.log).turns if serial is not None else []
        began, again = time.monotonic(), list[bool]()
        while len(again) < request.again and time.monotonic() - began < _MOST_AGAIN_S:
            again.append(fails(once(seed, said, False)) is not None)
        found = {"seed": seed, "failure": wrong, "runs": number + 1, "again": sum(again), "of": len(again)}
        if serial is not None:
            found["order"] = serial.explain(turns, wrong, request.again)
        return _say(request, found, seen)
    found = {"seed": None, "failure": None, "runs": request.runs, "first_seed": first, "disturbed": reached}
    found |= {"exit_status": undisturbed.status, "other_exit_statuses": dict(others)}
    found["crashes_without_delays"] = sum(usual_crashes().values()) if seen.crashed else 0
    if others.total() == request.runs > 1:
        found["failure"] = (
            f"differs: exit status {words(sorted(others))} in each run, {undisturbed.status} without delays"
        )
    return _say(request, found, seen if found["failure"] else undisturbed)


def _environment(paths: Paths, request: Request) -> dict[str, str]:
    env = {key: value for key, value in clean_environment(os.environ).items() if not key.startswith("LOCKSWAP_")}
    before = [*sanitizer.runtimes(request.command), *extra_preload.first(request.preload_first)]
    others = extra_preload.resolve(request.preload)
    existing = env.get("LD_PRELOAD", "")
    env |= sanitizer.variables(env, request.command)
    if request.rwlock is None and request.mutex is None:
        return env | {"LD_PRELOAD": ld_preload(None, existing, others, before)}
    choice = chosen(Registry.load(paths), request.rwlock, request.mutex)
    env["LD_PRELOAD"] = ld_preload(None, existing, others, before)
    return env | lock_variables(paths.library, choice, None, existing, None, others, before)


def _is_elf_file(path: str) -> bool:
    return executable.head_of(Path(path)).startswith(b"\x7fELF")


def _with_fuzz(paths: Paths, entries: str) -> str:
    """Behind sanitizers' runtimes, before everything else: what it wraps is the next library's."""
    listed = [entry for entry in entries.split(":") if entry]
    first = [entry for entry in listed if executable.is_runtime(entry)]
    return ":".join([*first, str(paths.fuzz_library), *(entry for entry in listed if entry not in first)])


def _seeded(env: dict[str, str], request: Request, seed: int, table: Path, more: list[str]) -> dict[str, str]:
    said = [str(seed)]
    said += [f"percent={request.percent}"] if request.percent is not None else []
    said += [f"delay={request.delay_us}"] if request.delay_us is not None else []
    said += [f"budget={request.budget_ms}"] if request.budget_ms is not None else []
    said += ["spurious"] if request.spurious else []
    said += [f"live={table}"] if "," not in str(table) else []
    said += more
    return env | {"LOCKSWAP_FUZZ": ",".join(said)}


def _one(command: list[str], path: str, env: dict[str, str], how: Watching) -> Outcome:
    how.begin()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        child, status, hang = None, None, None
        try:
            with held():
                child = start(
                    command, path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
            watch = Watch(child.pid, how)
            while hang is None and status is None:
                status = _wait(child, how.between_looks_s)
                hang = watch.look() if status is None else None
        finally:  # also what it left behind, and after Ctrl-C
            if child is not None and (child.poll() is None or status is None):
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        seconds = time.monotonic() - began
        out.seek(0)
        err.seek(0)
        crashed = tuple(children.crashes(children.read(how.table)))
        return Outcome(status, seconds, out.read(), err.read(), tuple(command), hang, crashed)


def _wait(child: subprocess.Popen, seconds: float) -> int | None:
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _say(request: Request, found: dict, last: Outcome) -> int:
    found["where"] = last.hang.report if last.hang and found["failure"] else None
    if request.as_json:
        output = {"stdout": last.stdout.decode(errors="replace"), "stderr": last.stderr.decode(errors="replace")}
        print(json.dumps(found | output, indent=1))
    else:
        print(_text(request, found, last), file=sys.stderr)
    return 0 if found["failure"] is None else FOUND


def _text(request: Request, found: dict, last: Outcome) -> str:
    if found["failure"] is None:
        first, runs = found["first_seed"], found["runs"]
        seeds = f"seed {first}" if runs == 1 else f"seeds {first} to {first + runs - 1}"
        said = f"no failure in {plural(runs, 'run')}, {seeds}{_statuses(found)}"
        if found["disturbed"]:
            return f"lockswap fuzz: {said}"
        return f"lockswap fuzz: nothing was delayed in the program itself, since no library can be preloaded; {said}"
    end = last.stderr.decode(errors="replace").strip().splitlines()[-20:]
    end += found["where"].splitlines() if found["where"] else []
    said = "".join(f"\n  {line}".rstrip(" ") for line in end)
    if found["seed"] is None and found["runs"]:
        return (
            f"lockswap fuzz: {found['failure']}: a race would not show in every run, so look for another reason in "
            f"what the program prints, and if it has a time limit, lower --percent or --delay{said}"
        )
    if found["seed"] is None:
        return f"lockswap fuzz: the program fails even without delays; repair that first: {found['failure']}{said}"
    order = "".join(f"{line}\n" for line in of_serial.as_text(found["order"])) if "order" in found else ""
    if found["runs"] == 0:
        how = "the program fails in the first order, in which each thread runs for as long as it can"
        return f"lockswap fuzz: {how}: {found['failure']}{said}\n{order}".rstrip()
    return (
        f"lockswap fuzz: run {found['runs']}, seed {found['seed']}: {found['failure']}{said}\n{order}"
        f"lockswap fuzz: the same seed fails in {found['again']} of {found['of']} more runs; "
        f"to see it again: {_same_disturbance(request)}--seed {found['seed']} --runs 1"
    )


def _same_disturbance(request: Request) -> str:
    """The options that a seed needs beside it to do the same again."""
    flags = {"--serial": request.serial, "--same-output": request.same_output, "--spurious": request.spurious}
    values = {
        "--percent": request.percent,
        "--delay": request.delay_us,
        "--budget": request.budget_ms and f"{request.budget_ms}ms",
        "--timeout": request.timeout,
        "--rwlock": request.rwlock,
        "--mutex": request.mutex,
    }
    said = [name for name, is_given in flags.items() if is_given]
    said += [
        f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
        if value
    ]
    return "".join(f"{one} " for one in said)


def _statuses(found: dict) -> str:
    """What is worth a word of how the runs ended, though it is no failure."""
    crashes = found["crashes_without_delays"]
    if crashes:
        how = "a child process crashes" if crashes == 1 else f"{crashes} child processes crash"
        return f"; not known: {how} without delays, too, and the program passes over that"
    others, usual = found["other_exit_statuses"], found["exit_status"]
    if others:
        times = sum(others.values())
        text = f"{plural(times, 'run')} ended with exit status {words(sorted(others))} instead of {usual}"
        return f"; {text}, which is a failure with --same-output"
    return f"; each ended with exit status {usual}" if usual else ""
