#!/usr/bin/env python3
"""Unmodified programs under a lock: same exit status and same result as without the library, and the lock was used.

    smoke.py LIBRARY APPS LOCK WAIT

Each program runs plain first: what fails there is not the lock's fault and is reported as skipped, with the
reason, as is a program that is not installed. Exit status 0 good, 1 a program failed, 77 all were skipped.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TIME_LIMIT = 120


@dataclass
class Program:
    name: str
    command: list[str]
    # What the output must contain, where it differs from run to run; else it must be the same as without the library.
    contains: list[str] = field(default_factory=list)
    # At least so many calls of rwlock functions, by the library's own count; 0 where the program need not make any.
    calls: int = 0
    spinning: bool = True  # also under bare spinning (more threads than processors would measure the scheduler)


OPENSSL_LOOP = """
import hashlib, threading
def work():
    for i in range(300):
        hashlib.new('sha256', b'%d' % i).digest()
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
import ssl
ssl.create_default_context()
print(hashlib.sha256(b'lockswap').hexdigest())
"""

PYTHON_WORK = """
import concurrent.futures, threading, subprocess, sys
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    print(sum(pool.map(lambda n: n * n, range(1000))))
print(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)
"""

NODE_WORK = """
const crypto = require('crypto'); let left = 8; const out = [];
for (let i = 0; i < 8; i++) crypto.pbkdf2('s' + i, 'salt', 1000, 16, 'sha256', (e, key) => {
  out[i] = key.toString('hex'); if (--left === 0) console.log(out.join(' ')); });
"""

DB_BENCH = [
    "db_bench", "--db={tmp}/db", "--threads=3", "--benchmarks=fillseq,readwhilewriting", "--duration=1", "--num=5000",
    "--memtablerep=hash_linkedlist", "--prefix_size=8", "--keys_per_prefix=4", "--inplace_update_support=1",
    "--inplace_update_num_locks=1", "--allow_concurrent_memtable_write=0", "--stats_interval=10000000",
]  # fmt: skip

KYOTO_OK = [r"(?m)^ok$"]  # its tests check their own results


def kyoto(name: str, *command: str, calls: int = 1000) -> Program:
    return Program(name, list(command), contains=KYOTO_OK, calls=calls, spinning=False)


PROGRAMS = [
    Program("node-exit", ["node", "-e", "process.exit()"], calls=1000),
    Program("node-crypto", ["node", "-e", NODE_WORK], calls=1000),
    Program("python3-threads", ["/usr/bin/python3", "-c", PYTHON_WORK]),
    Program("python3-openssl", ["/usr/bin/python3", "-c", OPENSSL_LOOP], calls=1000),
    Program("openssl-digest", ["openssl", "dgst", "-sha256", "/bin/sh"], calls=10),
    Program("openssl-rsa", ["openssl", "genrsa", "2048"], contains=["BEGIN PRIVATE KEY"], calls=10),
    kyoto("kccachetest-wicked", "kccachetest", "wicked", "-th", "3", "20000", calls=10000),
    kyoto("kccachetest-order", "kccachetest", "order", "-th", "3", "-rnd", "5000"),
    kyoto("kcprototest-order", "kcprototest", "order", "-th", "3", "-rnd", "5000"),
    kyoto("kcstashtest-order", "kcstashtest", "order", "-th", "3", "-rnd", "5000"),
    # Holds over a thousand rwlocks at once.
    kyoto("kchashtest-order", "kchashtest", "order", "-th", "3", "-rnd", "{tmp}/hash.kch", "3000"),
    Program(
        "db_bench",
        DB_BENCH,
        contains=[r"readwhilewriting\s*:.*ops/sec", r"\((\d+) of \1 found\)"],
        calls=1000,
        spinning=False,
    ),
    Program(
        "test_rwlock",
        ["{apps}/test_rwlock", "3", "1", "1", "-c", "10", "-e", "10"],
        contains=[r"nr_reads\s+[1-9]", r"nr_writes\s+\d"],
        calls=1000,
        spinning=False,
    ),
]


def run(program: Program, apps: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as tmp:
        command = [part.replace("{tmp}", tmp).replace("{apps}", str(apps)) for part in program.command]
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", env=environment, timeout=TIME_LIMIT,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip


def complaint(program: Program, result: subprocess.CompletedProcess[str], plain: str | None) -> str | None:
    """What is wrong with a run; `plain` is the standard output of the run without the library."""
    if result.returncode != 0:
        return f"status {result.returncode}; it said: {(result.stderr or result.stdout)[-500:]}"
    for pattern in program.contains:
        if not re.search(pattern, result.stdout + result.stderr):
            return f"its output has no match of {pattern!r}; it ends: {result.stdout[-300:]}"
    if plain is not None and not program.contains and result.stdout != plain:
        return f"it printed {result.stdout[-300:]!r}, without the library {plain[-300:]!r}"
    return None


def calls_of(folder: Path) -> int:
    return sum(json.loads(f.read_text())["calls"] for f in folder.iterdir())


def try_program(program: Program, library: Path, apps: Path, lock: str, wait: str) -> tuple[str, str]:
    if wait == "spin" and not program.spinning:
        return "skipped", "more threads than processors would spin"
    executable = program.command[0].replace("{apps}", str(apps))
    if shutil.which(executable) is None:
        return "skipped", f"{executable} is not there"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    plain = run(program, apps, clean)
    if (wrong := complaint(program, plain, None)) is not None:
        return "skipped", f"it fails without the library: {wrong}"
    under = clean | {"LD_PRELOAD": str(library), "LOCKSWAP_RWLOCK": lock, "LOCKSWAP_WAIT": wait}
    try:
        if (wrong := complaint(program, run(program, apps, under), plain.stdout)) is not None:
            return "FAILED", wrong
        with tempfile.TemporaryDirectory() as folder:
            counted = run(program, apps, under | {"LOCKSWAP_STATS": f"{folder}/stats"})
            if (wrong := complaint(program, counted, plain.stdout)) is not None:
                return "FAILED", f"with LOCKSWAP_STATS: {wrong}"
            calls = calls_of(Path(folder))
    except subprocess.TimeoutExpired:
        return "FAILED", f"hang: not done after {TIME_LIMIT} s (without the library it was)"
    if calls < program.calls:
        return "FAILED", f"the library saw {calls} calls, at least {program.calls} were expected: it is bypassed"
    return "ok", f"{calls} calls"


def main() -> int:
    if len(sys.argv) != 5:
        print("usage: smoke.py LIBRARY APPS LOCK WAIT", file=sys.stderr)
        return 2
    library, apps = (Path(a).resolve() for a in sys.argv[1:3])
    lock, wait = sys.argv[3:]
    outcomes = []
    for program in PROGRAMS:
        start = time.monotonic()
        try:
            outcome, why = try_program(program, library, apps, lock, wait)
        except subprocess.TimeoutExpired:
            outcome, why = "skipped", f"it hangs without the library ({TIME_LIMIT} s)"
        outcomes.append(outcome)
        print(f"{outcome:7} {program.name} under {lock}, {wait} ({time.monotonic() - start:.1f} s): {why}", flush=True)
    if "FAILED" in outcomes:
        return 1
    return 0 if "ok" in outcomes else 77


if __name__ == "__main__":
    sys.exit(main())
