"""Runs calls_subject, and reads what was recorded of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SUBJECT = BUILD / "tests/calls/calls_subject"
LIBRARY = BUILD / "liblockswap.so"
READER = BUILD / "bin/lockswap-calls-read"
MODEL = BUILD / "bin/lockswap-model"
ROUNDS, TURNS, THREADS, SLEEP_MS, LATE_MS = 1000, 50, 4, 30, 1000  # of subject.c
EDGES = 2  # acquisitions of a mutex by each thread, beside what the table says
PAIR = {"locks": 1, "unlocks": 1}


def environment(**more: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    return env | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)} | more


def record(folder: Path, *words: str, status: int = 0, **more: str) -> list[dict]:
    """What each process left, in the order of their files' names."""
    env = environment(LD_PRELOAD=str(LIBRARY), LOCKSWAP_RECORD=str(folder), **more)
    done = subprocess.run([SUBJECT, *words], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (status, "")
    return read(*sorted(folder.glob("*.lockcalls")))


def read(*files: Path) -> list[dict]:
    done = subprocess.run([READER, *files], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["processes"]


def lockswap(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "lockswap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment(), cwd=cwd)
