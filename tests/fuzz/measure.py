"""Runs until a race shows: by plain repetition, and by `lockswap fuzz`. As a program it prints the table of
results/notes/2026-11-fuzz.md.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.outside.calls import name_of  # noqa: E402
from lockswap.outside.target import glimpse  # noqa: E402

BUILD = ROOT / "build"
RACES = BUILD / "tests/fuzz/fuzz_races"
TURNS = BUILD / "tests/fuzz/fuzz_turns"
# The race, and what is said of it.
WRONG = {
    "update": "differs: stdout '1'",
    "check": "differs: stdout '-1 left, 2 taken'",
    "order": "hang",
    "wait": "hang",
    "free": "crash: SIGABRT",
}
RIGHT = {"update": "2\n", "check": "0 left, 1 taken\n", "order": "2\n", "wait": "1\n", "free": "done\n"}


def sleeps(pid: int) -> dict[int, str] | None:
    """How often each thread has lost its processor, if all of them sleep in futex calls."""
    found = {int(one.name): glimpse(pid, int(one.name)) for one in Path(f"/proc/{pid}/task").iterdir()}
    if not all(one and one.state == "S" and one.call and name_of(one.call) == "futex" for one in found.values()):
        return None
    return {tid: one.switches for tid, one in found.items()}


def hangs(process: subprocess.Popen) -> bool:
    """Whether its threads all sleep, and have slept on from one look to the next: so nobody can wake them."""
    return (before := sleeps(process.pid)) is not None and sleeps(process.pid) == before


def ends_with(command: list) -> tuple[int, str] | None:
    """The status and the output of a program that neither sleeps nor waits for others; None: it hangs."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        while True:
            try:
                output, _ = process.communicate(timeout=0.1)
                return process.returncode, output
            except subprocess.TimeoutExpired:
                if hangs(process):
                    process.kill()
                    return None


def one_plain(race: str) -> bool:
    """Whether one plain run fails."""
    return ends_with([RACES, race]) != (0, RIGHT[race])


def json_of_fuzz(*words: object) -> dict:
    env = os.environ | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    command = [sys.executable, "-m", "lockswap", "fuzz", "--json", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    return json.loads(done.stdout)


def measure(race: str, seeds: int, cap: int) -> tuple[float, int, float]:
    """Runs for a failure by plain repetition (at least: `cap` runs were made), failures seen, and runs under fuzz."""
    failures = sum(one_plain(race) for _ in range(cap))
    runs = []
    for first in range(seeds):
        words = ["--same-output", "--again", 0, "--seed", 1000 * first, "--runs", cap]
        found = json_of_fuzz(*words, "--", RACES, race)
        runs.append(found["runs"] if found["failure"] else cap)
    return cap / max(failures, 1), failures, mean(runs)


def failures_of_turns(runs: int, settings: str = "", first: int = 0, words: tuple[str, ...] = ()) -> int:
    """How often the program fails whose only race is in the order of waiting threads; each run has its own seed.

    `words`: ("signal",) if they wait for a condition variable.
    """

    def one(seed: int) -> bool:
        env = os.environ | {"LD_PRELOAD": str(BUILD / "liblockswap-fuzz.so"), "LOCKSWAP_FUZZ": f"{seed}{settings}"}
        return subprocess.run([TURNS, *words], env=env, capture_output=True).returncode < 0

    return sum(map(one, range(first, first + runs)))


if __name__ == "__main__":
    cap = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    print("| race | plain runs | failures | runs under fuzz, mean of 5 seeds |\n| --- | ---: | ---: | ---: |")
    for race in WRONG:
        _, seen, disturbed = measure(race, 5, cap)
        print(f"| {race} | {cap} | {seen} | {disturbed:.1f} |", flush=True)
    for settings, name in (("", "delays and turns"), (",no-turns", "delays alone")):
        for words in ((), ("signal",)):
            failed = failures_of_turns(400, settings, words=words)
            print(" ".join(("turns", *words)) + f": {failed} of 400 seeds fail with {name}", flush=True)
