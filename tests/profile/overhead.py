#!/usr/bin/env python3
"""What `lockswap profile` costs a program: time per operation with it, to the same without, in pairs by turns.

    overhead.py [--pairs N] [--length short|long|both] [openssl | db_bench | memcached]...

It needs a quiet machine; without words it takes some five minutes. For each program and length: the mean ratio of the
pairs, with the 95 % interval of that mean (of logarithms, by Student), and beside it what the report's estimate says:
the processor time of the profiled run to the same less the estimated cost, over the same runs. `processor`: processor
time per operation, which other programs disturb less; memcached's is that of the server. memcached and memcaslap are
looked for in build/apps and in PATH.
"""

import argparse
import json
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
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LIBRARY = BUILD / "liblockswap.so"
READER = BUILD / "bin/lockswap-profile-read"
# Seconds of the part that is measured.
LENGTHS = {"short": 0.2, "long": 2.0}
TARGET = 1.10
# Two-sided 95 % of Student's t.
STUDENT = {4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 11: 2.201, 14: 2.145, 19: 2.093, 29: 2.045}


@dataclass(frozen=True)
class Result:
    """Per operation; and the processor time of the whole run, which the estimate is of."""

    times: dict[str, float]
    cpu_s: float


@dataclass(frozen=True)
class Ratio:
    low: float
    middle: float
    high: float
    pairs: int

    @classmethod
    def of(cls, logs: list[float]) -> "Ratio":
        mean, error = statistics.mean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
        half = STUDENT.get(len(logs) - 1, 2.0 if len(logs) > 20 else 2.8) * error
        return cls(*(math.exp(mean + d) for d in (-half, 0, half)), len(logs))

    def __str__(self) -> str:
        return f"{self.middle:.3f} [{self.low:.3f}, {self.high:.3f}]"


def run(command: list, env: dict) -> tuple[str, float]:
    """What it printed, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(list(map(str, command)), env=env, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout + done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def openssl(env: dict, seconds: float) -> Result:
    out, cpu_s = run([BUILD / "apps/openssl_digest", "--threads", 1, "--seconds", seconds], env)
    ops, cpu = re.search(r"ops_s (\d+) .*ops_cpu (\d+)", out).groups()
    return Result({"wall": 1 / float(ops), "processor": 1 / float(cpu)}, cpu_s)


def db_bench(env: dict, seconds: float) -> Result:
    """In-place updates as in apps/recipes/db-bench.toml, by two threads that each read four times and write once.

    The number of operations is given: where a reader and a writer run for a time, their shares differ from run to run
    by far more than the profile costs.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        words = ["--threads=2", "--num=10000", "--memtablerep=hash_linkedlist", "--prefix_size=8"]
        words += ["--keys_per_prefix=4", "--inplace_update_support=1", "--inplace_update_num_locks=1"]
        words += ["--allow_concurrent_memtable_write=0", "--stats_interval=10000000"]
        words += [f"--reads={seconds * 800_000:.0f}", "--readwritepercent=80"]
        words += ["--benchmarks=fillseq,readrandomwriterandom", f"--db={folder}/db"]
        out, cpu_s = run(["db_bench", *words], env)
    wall = float(re.search(r"^readrandomwriterandom\s*:\s*([0-9.]+) micros/op", out, re.MULTILINE)[1])
    return Result({"wall": wall, "processor": cpu_s}, cpu_s)


def memcached(env: dict, seconds: float) -> Result:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [found("memcached"), "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "root", "-t", "2", "-m", "64"]
    server = subprocess.Popen(words, env=env)
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        load = [found("memcaslap"), f"--servers=127.0.0.1:{port}", "--threads=1", "--concurrency=16"]
        load += [f"--time={seconds:.0f}s"] if seconds >= 1 else [f"--execute_number={seconds * 50_000:.0f}"]
        out, _ = run(load, dict(os.environ))
        fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    finally:
        server.terminate()
        server.wait()
    ops = int(re.search(r"Ops: (\d+)", out)[1])
    tps = float(re.search(r"TPS: (\d+)", out)[1])
    cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return Result({"wall": 1 / tps, "processor": cpu / ops}, cpu)


PROGRAMS = {"openssl": openssl, "db_bench": db_bench, "memcached": memcached}
NEEDS = {"openssl": ["openssl_digest"], "db_bench": ["db_bench"], "memcached": ["memcached", "memcaslap"]}


def found(program: str) -> str | None:
    return shutil.which(BUILD / "apps" / program) or shutil.which(program)


def estimate(folder: Path, cpu_s: float) -> float:
    """What the report says of the run whose recordings are there, as a ratio."""
    sys.path.insert(0, str(ROOT / "harness"))
    from lockswap.profile import summary

    done = subprocess.run([READER, *folder.glob("*.lockprof")], check=True, capture_output=True, text=True)
    cost_s = summary.summarise(json.loads(done.stdout), None).cost_ns / 1e9
    return cpu_s / (cpu_s - cost_s)


def measure(name: str, seconds: float, pairs: int) -> tuple[dict[str, Ratio], list[float]]:
    """The measured ratios, and what was estimated in each of the runs."""
    logs: dict[str, list[float]] = {}
    estimates = []
    plain = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    for pair in range(pairs):
        results = {}
        with tempfile.TemporaryDirectory(prefix="lockswap-overhead-") as folder:
            profiled = plain | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_PROFILE": folder}
            for which in ("with", "without") if pair % 2 else ("without", "with"):
                results[which] = PROGRAMS[name](profiled if which == "with" else plain, seconds)
            assert any(Path(folder).glob("*.lockprof")), "nothing was recorded"
            estimates.append(estimate(Path(folder), results["with"].cpu_s))
        for key, value in results["with"].times.items():
            logs.setdefault(key, []).append(math.log(value / results["without"].times[key]))
    return {key: Ratio.of(values) for key, values in logs.items()}, estimates


def report(name: str, length: str, pairs: int) -> None:
    ratios, estimates = measure(name, LENGTHS[length], pairs)
    least, middle, most = min(estimates), statistics.median(estimates), max(estimates)
    for key, ratio in ratios.items():
        verdict = "met" if ratio.high <= TARGET else "missed" if ratio.low > TARGET else "not decided"
        agrees = "agrees" if ratio.low <= middle <= ratio.high else "too low" if middle < ratio.low else "too high"
        print(
            f"{name:8} {length:5} {key:9} {ratio} in {ratio.pairs} pairs; at most {TARGET}: {verdict}; "
            f"estimated {middle:.3f} ({least:.3f} to {most:.3f}): {agrees}",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--length", choices=[*LENGTHS, "both"], default="both")
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], default=[])
    words = parser.parse_args()
    if words.pairs < 5:
        parser.error("--pairs: at least 5")
    status = 0
    for name in words.programs or PROGRAMS:
        if missing := [tool for tool in NEEDS[name] if found(tool) is None]:
            print(f"{name}: not measured: {' and '.join(missing)} not found", file=sys.stderr)
            status = 2
            continue
        for length in LENGTHS if words.length == "both" else [words.length]:
            report(name, length, words.pairs)
    return status


if __name__ == "__main__":
    sys.exit(main())
