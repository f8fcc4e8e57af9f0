"""Campaigns whose outcome is known: what `lockswap compare` says of equals, and of a lock slowed by 5 % and by 20 %.

usage: build/venv/bin/python tests/harness/known_differences.py [CAMPAIGNS [OPTION...]]

Makes CAMPAIGNS (default 20) of equals, and a quarter as many of each slowed lock, with `compare`'s defaults and the
OPTIONs (such as --until 5% --budget 2), and prints how often which difference was claimed. Brings its own library: the
locks are all glibc's, and slow5 and slow20 burn a known share of the program's time in each release. What was found is
in results/notes/2026-11-statistics.md.
"""

import json
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from harness_support import Lockswap

COUNT = 30000


def verdicts(lockswap: Lockswap, lock: str, *options: str) -> dict[str, str]:
    """One campaign: figure -> what it says of `lock` against pthread, and the interval."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "campaign"
        done = lockswap(
            "compare", "-l", lock, "--out", out, "--timeout", "300", *options,
            "--", lockswap.root / "build/apps/steady", "2", COUNT, timeout=3600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        cells = json.loads((out / "summary.json").read_text())["workloads"][0]["cells"]
    metrics = next(cell["metrics"] for cell in cells if cell["lock"] == lock)
    found = {}
    for name, metric in metrics.items():
        ratio = metric["ratio_to_pthread"]
        found[name] = ratio["verdict"]
        print(
            f"{lock:6} {name:16} {ratio['verdict']:10} {ratio['estimate']:.3f} "
            f"[{ratio['low']:.3f} to {ratio['high']:.3f}] noise {ratio['noise'] or math.nan:.3f}, {ratio['n']} rounds",
            flush=True,
        )
    return found


def main(campaigns: int, *options: str) -> None:
    from conftest import make_checkout

    with tempfile.TemporaryDirectory() as folder:
        lockswap = Lockswap(make_checkout(Path(folder)))
        for lock, times in (("ba", campaigns), ("slow5", campaigns // 4), ("slow20", campaigns // 4)):
            counted: dict[str, Counter] = {}
            began = time.monotonic()
            claiming = 0
            for _ in range(times):
                found = verdicts(lockswap, lock, *options)
                claiming += bool({"faster", "slower"} & set(found.values()))
                for name, verdict in found.items():
                    counted.setdefault(name, Counter())[verdict] += 1
            what = "equals" if lock == "ba" else lock
            print(f"== {what}: {claiming} of {times} campaigns claim a difference; {time.monotonic() - began:.0f} s")
            for name, counts in counted.items():
                print(f"   {name}: {dict(counts)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, *sys.argv[2:])
