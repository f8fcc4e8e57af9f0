"""`lockswap off PID`: from now on, locks that begin in that process are glibc's."""

import time

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.doctor.asked import Memory, WhatRuns, turn_off
from lockswap.doctor.inside import Inside
from lockswap.outside.target import who_may_trace


def run(paths: Paths, pid: int) -> int:
    inside = Inside(pid)
    if not inside.libraries:
        raise UserError(f"process {pid} runs without lockswap, so its locks are glibc's already")
    try:
        memory = Memory(pid, writes=True)
    except OSError as error:
        raise UserError(
            f"process {pid} can't be switched off, since the kernel does not let you write to it: "
            f"{who_may_trace('restart it without lockswap')}"
        ) from error
    with memory:
        runs = inside.ask(memory)
        if runs is None:
            raise UserError(
                f"process {pid} has another version of lockswap, which can't be switched off; "
                "use the command that came with it, or restart the process without lockswap"
            )
        return _off(pid, memory, inside, runs)


def _off(pid: int, memory: Memory, inside: Inside, runs: WhatRuns) -> int:
    if runs.off_since:
        print(f"lockswap: '{inside.program}' (process {pid}) is switched off already")
        return 0
    turn_off(memory, runs, int(time.time()))
    after = inside.ask(memory)
    if after is None or not after.off_since:
        raise UserError(f"process {pid} did not take the switch; restart it without lockswap")
    print(
        f"lockswap: '{inside.program}' (process {pid}) is switched off: locks that are first used from now on are "
        "glibc's; those in use stay as they are until they are destroyed"
    )
    return 0
