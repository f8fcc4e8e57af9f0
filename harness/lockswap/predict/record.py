"""`lockswap record`: runs a program on glibc's locks, and keeps a record of its lock calls to replay."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.text import as_word, in_seconds, plural, share, si, time
from lockswap.predict import recorded
from lockswap.predict.recorded import Recorded
from lockswap.run import extra_preload, passing_on, program, sanitizer
from lockswap.run.ended import Ended
from lockswap.run.preload import clean_environment, ld_preload


def run(
    paths: Paths,
    command: list[str],
    out: Path,
    megabytes: int,
    after: float,
    preload: Sequence[str] = (),
    preload_first: Sequence[str] = (),
) -> int:
    """Returns the program's exit status (128 + N after signal N)."""
    path = program.resolve(command[0])
    others = extra_preload.resolve(preload)
    first = [*sanitizer.runtimes(command), *extra_preload.first(preload_first)]
    env = {key: value for key, value in clean_environment(os.environ).items() if not key.startswith("LOCKSWAP_")}
    env["LD_PRELOAD"] = ld_preload(paths.library, env.get("LD_PRELOAD", ""), others, first)
    env |= sanitizer.variables(env, command)
    _make(out)
    env |= {
        "LOCKSWAP_RECORD": str(out.absolute()),
        "LOCKSWAP_RECORD_MB": str(megabytes),
        "LOCKSWAP_RECORD_AFTER_MS": str(round(after * 1000)),
    }
    status = passing_on.run(path, command, env).returncode
    found = recorded.read_folder(paths, out)
    print("\n".join(_report(command[0], out, found, after)), file=sys.stderr)
    return Ended(command, status, seen=frozenset(one.program for one in found)).shell_status


def _make(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} exists already: remove it, or name another folder with --out")
    try:
        out.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {out}: {error.strerror}: name a new folder inside an existing one") from error


def _report(name: str, out: Path, found: list[Recorded], after: float) -> list[str]:
    if not found:
        late = f" later than {in_seconds(after)} after its start" if after else ""
        return [
            f"lockswap record: {name} acquired no lock that lockswap sees{late}, so there is nothing to replay; "
            f"'lockswap audit -- {as_word(name)}' shows which locks it takes"
        ]
    lines = [line for one in found for line in _process(one)]
    return [*lines, f"Replay it: lockswap predict --replay {as_word(out)} --machine x5-2 {_locks(found[0])}"]


def _process(one: Recorded) -> list[str]:
    kinds = [plural(n, kind) for n, kind in ((one.mutexes, "mutex"), (one.rwlocks, "rwlock")) if n]
    lines = [
        f"{one.file}: {one.program}, {plural(one.threads, 'thread')}, {' and '.join(kinds)}, "
        f"{si(one.acquisitions)} acquisitions in {time(one.seconds * 1e9)}"
    ]
    cost = "" if one.cost is None else f", {share(one.cost)} of the processor time"
    lines.append(f"  Recording added about {one.pair_ns:.0f} ns to each lock and its release{cost}.")
    if one.full:
        lines.append(
            f"  The file was full ({one.most_bytes >> 20} MB), so the rest of the run isn't in it: use --size for a "
            "larger file, or --after to begin later."
        )
    if one.left_out:
        lines.append(f"  {si(one.left_out)} calls were left out: they were in signal handlers, or on too many locks.")
    return lines


def _locks(one: Recorded) -> str:
    return " ".join(word for word, n in (("--rwlock LOCKS", one.rwlocks), ("--mutex MUTEXES", one.mutexes)) if n)
