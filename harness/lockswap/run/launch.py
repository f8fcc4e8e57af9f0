"""`lockswap run`: become the program, with the library under it."""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.base.selection import chosen, with_conds
from lockswap.run import extra_preload, preload_order, program, sanitizer
from lockswap.run.preload import clean_environment, lock_variables


def run(
    paths: Paths,
    command: list[str],
    rwlock: str | None,
    mutex: str | None,
    cond: str | None,
    wait: str | None,
    stats: str | None,
    verbose: bool,
    preload: Sequence[str] = (),
    preload_first: Sequence[str] = (),
) -> NoReturn:
    """Replace this process by `command`: nothing stands between the program and its caller."""
    registry = Registry.load(paths)
    if rwlock is None and mutex is None and cond is None:
        raise UserError("name the lock to run: --rwlock LOCK, --mutex MUTEX or both; 'lockswap list' shows all")
    choice = chosen(registry, rwlock, mutex)
    if cond is not None:
        choice = with_conds(choice, cond)
    wait = registry.wait(wait) if wait else None
    path = program.resolve(command[0])
    before, others = (
        [*sanitizer.runtimes(command), *extra_preload.first(preload_first)],
        extra_preload.resolve(preload),
    )
    if stats not in (None, "0") and choice.variables:
        others.append(str(paths.stats_on_signal))

    env = clean_environment(os.environ)
    if not choice.variables:
        for key in [key for key in env if key.startswith("LOCKSWAP_")]:
            del env[key]
    else:
        for warning in [*program.hindrances(Path(path)), *sanitizer.warnings(command)]:
            print(f"lockswap: warning: {warning}", file=sys.stderr)
        env |= sanitizer.variables(env, command)
        if verbose:
            env["LOCKSWAP_VERBOSE"] = "1"
        # What is not named is glibc's, whatever the environment says.
        for key in ("LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX", "LOCKSWAP_COND"):
            env.pop(key, None)
    env |= lock_variables(paths.library, choice, wait, env.get("LD_PRELOAD", ""), _stats_target(stats), others, before)
    if choice.variables and (warnings := preload_order.warnings(env["LD_PRELOAD"], paths.library)):
        for warning in warnings:
            print(f"lockswap: warning: {warning}", file=sys.stderr)
        env.setdefault("LOCKSWAP_VERBOSE", "0")  # the library need not say it again

    # Python ignores these two; an ignored signal would stay ignored in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    sys.stdout.flush()
    try:
        os.execve(path, command, env)
    except OSError as error:
        raise UserError(program.cannot_start(command[0], path, error)) from error


def _stats_target(stats: str | None) -> str | None:
    """'1' asks for text on stderr; a file is made absolute, since the program may change its folder."""
    if stats is None or stats in ("0", "1"):
        return stats
    if not stats:
        raise UserError("--stats=: name a file after the '=', or write --stats alone to print the counts")
    file = Path(stats).absolute()
    if not file.parent.is_dir():
        raise UserError(f"--stats: there is no folder '{file.parent}'; make it first")
    return str(file)
