"""Measures 25 programs with a known fault: the runs until `lockswap fuzz` finds it, whether a seed repeats an order,
and whether the shortened order still fails. As a program it prints the table of results/notes/2026-11-fuzz.md, for the
programs that are named as arguments.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from measure import BUILD, json_of_fuzz

from lockswap.fuzz import steps

PLANTED = BUILD / "tests/fuzz/fuzz_planted"
MOST_RUNS = 1000
_PLAIN_RUNS, _DISTURBED_RUNS = 500, 200
_NO_END_S = 600.0


def programs() -> dict[str, str]:
    """The names, each with its kind of fault."""
    lines = subprocess.run([PLANTED, "list"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {name: kind for kind, name in map(str.split, lines)}


def search(name: str, seed: int, *words: object, runs: int = MOST_RUNS, again: int = 0) -> dict:
    """What the command says of the program; the fault may also show in the undisturbed run, but hardly ever twice.

    If that run hangs, the command waits for the timeout. Of one thread at a time it sees a hang at once.
    """
    for _ in range(20):
        said = ("--timeout", 60, "--again", again, "--seed", seed, "--runs", runs, *words, "--", PLANTED, *name.split())
        found = json_of_fuzz(*said)
        if found["failure"] is None or found["seed"] is not None:
            break
    return found


def plain_failures(name: str, runs: int) -> int:
    def fails() -> bool:
        try:
            return subprocess.run([PLANTED, name], capture_output=True, timeout=5).returncode != 0
        except subprocess.TimeoutExpired:
            return True

    return sum(fails() for _ in range(runs))


def logged(name: str, settings: str) -> steps.Log:
    """The steps of one run, which may end in a deadlock."""
    with tempfile.NamedTemporaryFile() as log:
        os.truncate(log.name, steps.LOG_BYTES)
        variables = {
            "LD_PRELOAD": str(BUILD / "liblockswap-fuzz.so"),
            "LOCKSWAP_FUZZ": f"{settings},serial,steps={log.name}",
        }
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([PLANTED, *name.split()], env=os.environ | variables, **quiet) as child:
            began = time.monotonic()
            while child.poll() is None and not steps.is_deadlock(Path(log.name)):
                if time.monotonic() - began > _NO_END_S:
                    child.kill()
                    raise TimeoutError(f"{name} with {settings}")
                time.sleep(0.001)
            child.kill()
        return steps.read(Path(log.name))


def repeats(name: str, seeds: range) -> list[bool]:
    """For each seed, whether two processes had the same order."""
    with tempfile.NamedTemporaryFile() as nothing:
        length = len(logged(name, f"0,schedule={nothing.name}").steps)
    pairs = ([logged(name, f"{seed},length={length}") for _ in range(2)] for seed in seeds)
    return [one.order == other.order for one, other in pairs]


def measured(name: str, first_seeds: list[int]) -> dict:
    found = [search(name, seed, "--serial", again=10) for seed in first_seeds]
    orders = [one["order"] for one in found if one["failure"] is not None]
    return {
        "runs": [one["runs"] if one["failure"] is not None else None for one in found],
        "again": sum(one["again"] for one in found if one["failure"] is not None),
        "of": sum(one["of"] for one in found if one["failure"] is not None),
        "shortened_again": sum(one.get("fails_again", 0) for one in orders),
        "shortened_of": 10 * len(orders),
        "turns": [len(one["schedule"] or []) for one in orders],
        "failures": sorted({one["failure"] for one in found if one["failure"] is not None}),
    }


def _main(chosen: list[str]) -> None:
    seeds = [1, 10_001, 20_001, 30_001, 40_001]
    print(f"| fault | program | failures of {_PLAIN_RUNS} plain runs | runs of `fuzz` | runs of `--serial` | at most |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    again = of = shortened = shortened_of = 0
    same: list[bool] = []
    for name, kind in programs().items():
        if chosen and name not in chosen:
            continue
        plain = plain_failures(name, _PLAIN_RUNS)
        disturbed = search(name, 1, "--timeout", 5, runs=_DISTURBED_RUNS)
        serial = measured(name, seeds)
        runs = [one if one is not None else MOST_RUNS + 1 for one in serial["runs"]]
        same += repeats(name, range(1, 5))
        again, of = again + serial["again"], of + serial["of"]
        shortened, shortened_of = shortened + serial["shortened_again"], shortened_of + serial["shortened_of"]
        plainly = disturbed["runs"] if disturbed["failure"] is not None else f"more than {_DISTURBED_RUNS}"
        print(f"| {kind} | `{name}` | {plain} | {plainly} | {median(runs)} | {max(runs)} |", flush=True)
        print(f"{serial}", file=sys.stderr, flush=True)
    print(f"the same seed: {again} of {of} fail again, {sum(same)} of {len(same)} orders are the same")
    print(f"the shortened order fails in {shortened} of {shortened_of}")


if __name__ == "__main__":
    _main(sys.argv[1:])
