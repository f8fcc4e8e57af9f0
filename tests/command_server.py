"""Runs `lockswap`, for tests, in a process of its own, without the start of a Python for each.

A server has loaded the command's modules once; it forks, and the child runs the command as `python -m lockswap` would.
Where a variable that Python or the loader reads makes a difference, the command gets an interpreter of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NoReturn

HARNESS = Path(__file__).resolve().parents[1] / "harness"
# What Python and the loader read when a program begins.
AT_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "GLIBC_TUNABLES", "ASAN_", "TSAN_", "COVERAGE")
MOST = 1 << 20  # bytes of a request
used: list[float] = []  # CPU seconds of the commands so far, which are the server's children, for tiers/record_files.py


def run(
    *arguments: object, env: Mapping[str, str], timeout: float | None = None, cwd: Path | None = None, **more: object
) -> subprocess.CompletedProcess[str]:
    """The command with these arguments, as subprocess.run has it; `more` is for that alone."""
    words = [str(one) for one in arguments]
    if more or at_the_start(env) != at_the_start(os.environ | {"PYTHONPATH": str(HARNESS)}):
        command = [sys.executable, "-m", "lockswap", *words]
        captured = {"capture_output": True, "text": True, "check": False}
        return subprocess.run(command, env=env, timeout=timeout, cwd=cwd, **captured, **more)
    output, errors, ended = (os.pipe() for _ in range(3))
    given = [os.open(os.devnull, os.O_RDONLY), output[1], errors[1], ended[1]]
    socket.send_fds(server(), [json.dumps([words, dict(env), str(cwd or Path.cwd())]).encode()], given)
    for file in given:
        os.close(file)
    with os.fdopen(ended[0]) as end:
        pid = int(end.readline())
        said = read_to_the_end([output[0], errors[0]], timeout)
        if said is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout)
        status, cpu_s = end.readline().split()
    used.append(float(cpu_s))
    return subprocess.CompletedProcess(["lockswap", *words], int(status), *said)


def read_to_the_end(files: list[int], timeout: float | None) -> list[str] | None:
    """What comes from each until its last writer has ended; None if that takes longer."""
    found = [""] * len(files)

    def read(number: int) -> None:
        with os.fdopen(files[number], errors="surrogateescape") as file:
            found[number] = file.read()

    readers = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(len(files))]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(timeout)
    return None if any(reader.is_alive() for reader in readers) else found


def at_the_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(AT_THE_START) and value}


@cache
def server() -> socket.socket:
    """The server of this process, which ends with it."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MOST)
    environment = os.environ | {"PYTHONPATH": str(HARNESS)}
    command = [sys.executable, __file__, str(its.fileno())]
    child = subprocess.Popen(command, pass_fds=[its.fileno()], env=environment, stdin=subprocess.DEVNULL)
    its.close()

    def end() -> None:
        mine.close()
        child.wait()

    atexit.register(end)
    return mine


# --- in the server


def serve(connection: socket.socket) -> None:
    """Ends when nobody can ask any more."""
    connection.set_inheritable(False)
    load()
    running: dict[int, tuple[int, int]] = {}  # a descriptor for each process; its number, and where its end is told
    while True:
        ready, _, _ = select.select([connection, *running], [], [])
        for process in set(ready).intersection(running):
            tell_the_end(*running.pop(process))
            os.close(process)
        if connection in ready:
            request, files, _, _ = socket.recv_fds(connection, MOST, 4)
            if not request:
                return
            for file in files:
                os.set_inheritable(file, False)
            pid = os.fork()
            if pid == 0:
                be_the_command(*json.loads(request), files)
            *given, status = files
            for file in given:
                os.close(file)
            os.write(status, f"{pid}\n".encode())
            running[os.pidfd_open(pid)] = pid, status


def tell_the_end(pid: int, to: int) -> None:
    _, ended, usage = os.wait4(pid, 0)
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(to, f"{os.waitstatus_to_exitcode(ended)} {usage.ru_utime + usage.ru_stime}\n".encode())
    os.close(to)


def load() -> None:
    """All modules of the command, which it loads as it needs them, and what draws."""
    for file in sorted((HARNESS / "lockswap").rglob("*.py")):
        importlib.import_module(".".join(file.relative_to(HARNESS).with_suffix("").parts).removesuffix(".__init__"))
    del sys.modules["lockswap.__main__"]  # it is run, not imported
    gc.freeze()  # children share what they don't collect


def be_the_command(words: list[str], env: dict[str, str], cwd: str, files: list[int]) -> NoReturn:
    """In a child of the server, whose other files are closed when the command starts a program."""
    os.close(files.pop())
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    # The server's own may be a file, in which one can seek.
    sys.stdout = os.fdopen(1, "w", closefd=False, encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path[0] = cwd
    sys.argv = ["lockswap", *words]
    try:
        runpy.run_module("lockswap", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        with contextlib.suppress(OSError, ValueError):  # closed, as a pipe without a reader: Python's own end says so
            sys.stdout.flush()
            sys.stderr.flush()
            if isinstance(end.code, int):
                os._exit(end.code)  # nothing is registered for the end; taking modules apart would cost as much again
        raise
    sys.exit(0)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
