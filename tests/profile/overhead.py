#!/usr/bin/env python3
"""What `lockswap profile` costs a program: time per operation with it, to the same without, in pairs by turns.

    overhead.py [--pairs N] [openssl | db_bench | memcached]...

It needs a quiet machine. For each program: the mean ratio of the pairs, with the 95 % interval of that mean (of
logarithms, by Student). `processor`: processor time per operation, which other programs disturb less; memcached's is
that of the server. memcached and memcaslap are looked for in PATH.
"""

import argparse
import math
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
# Two-sided 95 % of Student's t.
STUDENT = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145, 19: 2.093, 29: 2.045}


def run(command: list, env: dict) -> tuple[str, float]:
    """What it printed, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout + done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def openssl(env: dict, threads: int = 1) -> dict[str, float]:
    out, _ = run([BUILD / "apps/openssl_digest", "--threads", threads, "--seconds", "1"], env)
    ops, cpu = re.search(r"ops_s (\d+) .*ops_cpu (\d+)", out).groups()
    return {"wall": 1 / float(ops), "processor": 1 / float(cpu)}


def db_bench(env: dict) -> dict[str, float]:
    """readwhilewriting over in-place updates, as apps/recipes/db-bench.toml has it; one reader and the writer."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        words = ["--threads=1", "--num=10000", "--memtablerep=hash_linkedlist", "--prefix_size=8"]
        words += ["--keys_per_prefix=4", "--inplace_update_support=1", "--inplace_update_num_locks=1"]
        words += ["--allow_concurrent_memtable_write=0", "--duration=2", "--stats_interval=10000000"]
        words += ["--benchmarks=fillseq,readwhilewriting", f"--db={folder}/db"]
        out, _ = run(["db_bench", *words], env)
    return {"wall": float(re.search(r"^readwhilewriting\s*:\s*([0-9.]+) micros/op", out, re.MULTILINE)[1])}


def memcached(env: dict) -> dict[str, float]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["memcached", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root", "-t", "2", "-m", "64"]
    server = subprocess.Popen(words, env=env)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        load = ["memcaslap", f"--servers=127.0.0.1:{port}", "--threads=1", "--concurrency=16", "--time=2s"]
        out, _ = run(load, dict(os.environ))
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    finally:
        server.terminate()
        server.wait()
    ops = int(re.search(r"Ops: (\d+)", out)[1])
    tps = float(re.search(r"TPS: (\d+)", out)[1])
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return {"wall": 1 / tps, "processor": cpu / ops}


PROGRAMS = {"openssl": openssl, "db_bench": db_bench, "memcached": memcached}


def measure(name: str, pairs: int) -> None:
    logs: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lockswap-overhead-") as folder:
        plain = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
        profiled = plain | {"LD_PRELOAD": str(BUILD / "liblockswap.so"), "LOCKSWAP_PROFILE": folder}
        for pair in range(pairs):
            found = {}
            for which in ("with", "without") if pair % 2 else ("without", "with"):
                found[which] = PROGRAMS[name](profiled if which == "with" else plain)
            assert any(Path(folder).glob("*.lockprof")), "nothing was recorded"
            for key, value in found["with"].items():
                logs.setdefault(key, []).append(math.log(value / found["without"][key]))
    for key, values in logs.items():
        mean, error = statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))
        half = STUDENT.get(len(values) - 1, 2.0 if len(values) > 20 else 2.8) * error
        low, middle, high = (math.exp(mean + d) for d in (-half, 0, half))
        print(f"{name:10} {key:10} {middle:.3f} [{low:.3f}, {high:.3f}] in {len(values)} pairs", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], default=[])
    words = parser.parse_args()
    if words.pairs < 5:
        parser.error("--pairs: at least 5")
    for name in words.programs or PROGRAMS:
        needs = {"db_bench": ["db_bench"], "memcached": ["memcached", "memcaslap"]}.get(name, [])
        if missing := [tool for tool in needs if shutil.which(tool) is None]:
            print(f"{name}: not measured: {' and '.join(missing)} not found", file=sys.stderr)
            return 2
        measure(name, words.pairs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
