"""Running the benchmark programs, for the tests of those of apps/ and of structures/apps.

Their arguments: LIBRARY APPS [--full].
"""

import json
import os
import re
import subprocess
import sys
import traceback
from pathlib import Path

library, apps = (Path(a).resolve() for a in sys.argv[1:3])
FULL = "--full" in sys.argv[3:]
LOCKS = ("", "ba", "bravo-ba")  # "": the program as it is
# Each thread works at least so often, even if it gets no processor in that time.
BRIEF = "--seconds 0.02 --tails 0.02 --least 5"
MUTEXES = ("ticket", "mcs", "clh")
RATES = ("ops_s", "reads_s", "writes_s", "ops_cpu", "fairness", "ops", "reads", "writes")


def need(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def run(line: str, lock: str = "", stats: Path | None = None, range_lock: str = "") -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
    if lock:
        kind = "LOCKSWAP_MUTEX" if lock in MUTEXES else "LOCKSWAP_RWLOCK"
        environment |= {"LD_PRELOAD": str(library), kind: lock}
    if stats:
        environment |= {"LOCKSWAP_STATS": str(stats)}
    if range_lock:
        environment |= {"LOCKSWAP_RANGE": range_lock}
    command = line.split()
    return subprocess.run([str(apps / command[0]), *command[1:]], capture_output=True, text=True, env=environment)


def values(line: str, lock: str = "", stats: Path | None = None, range_lock: str = "") -> dict[str, float]:
    done = run(line, lock, stats, range_lock)
    need(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    need(done.stderr == "", f"stderr is {done.stderr!r}")
    found: dict[str, float] = {}
    for text in done.stdout.splitlines():
        need(re.fullmatch(r"(\w+ [0-9.]+)( \w+ [0-9.]+)*", text) is not None, f"not pairs of name and value: {text!r}")
        words = text.split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            need(name not in found, f"{name} is said twice")
            found[name] = float(value)
    return found


def sound(found: dict[str, float], kinds: tuple[str, ...]) -> None:
    """What holds for every benchmark, however fast the machine is. `kinds`: the tails that must be there."""
    for name in RATES:
        need(name in found, f"{name} is missing in {found}")
    need(found["ops"] > 0 and found["ops_s"] > 0 and found["ops_cpu"] > 0, f"nothing was done: {found}")
    need(found["reads"] + found["writes"] == found["ops"], f"reads and writes are not all: {found}")
    need(abs(found["reads_s"] + found["writes_s"] - found["ops_s"]) <= 1, f"nor are they a second: {found}")
    need(0 <= found["fairness"] <= 1, f"fairness: {found}")
    need(0 <= found.get("kept", 0) <= 1, f"kept: {found}")
    there = {name.removesuffix("_timed") for name in found if name.endswith("_timed")}
    need(there == set(kinds), f"tails of {there}, expected {kinds}")
    for kind in kinds:
        tail = [found[f"{kind}_{which}_ns"] for which in ("p50", "p99", "p999", "max")]
        need(tail == sorted(tail) and tail[-1] > 0, f"{kind}: not rising: {tail}")
        need(found[f"{kind}_timed"] > 0, f"{kind}: none timed")


def counted(folder: Path) -> dict[str, int]:
    (file,) = folder.glob("stats.*")
    return json.loads(file.read_text())["totals"]


def each_runs(programs: dict[str, tuple[str, ...]]) -> None:
    """Each command line, with the tails that it must have, as it is and under one of the locks; all with --full."""
    for number, (line, kinds) in enumerate(programs.items()):
        for lock in LOCKS if FULL else ("", LOCKS[1 + number % 2]):
            try:
                sound(values(line if "--seconds" in line else f"{line} {BRIEF}", lock), kinds)
            except AssertionError as error:
                raise AssertionError(f"{line} under {lock or 'glibc'}: {error}") from None


RANGE_LOCKS = ("list-ex", "list-rw", "sharded-rw", "lustre-ex", "kernel-rw", "pnova-rw", "rwlock", "rwlock:ba")


def each_range_lock(lines: dict[str, tuple[str, ...]]) -> None:
    for lock in RANGE_LOCKS:
        for line, kinds in lines.items():
            try:
                sound(values(f"{line} {BRIEF}", range_lock=lock), kinds)
            except AssertionError as error:
                raise AssertionError(f"{line} under {lock}: {error}") from None


def refused(wrong: dict[str, str]) -> None:
    """Each of these command lines is an error, of which one line says what is wrong."""
    for line, says in wrong.items():
        done = run(line)
        need(done.returncode == 2, f"{line}: status {done.returncode}")
        need(done.stdout == "", f"{line}: stdout is {done.stdout!r}")
        need(says in done.stderr and done.stderr.count("\n") == 1, f"{line}: stderr is {done.stderr!r}")


def each_has_help(programs: dict[str, tuple[str, ...]]) -> None:
    for program in dict.fromkeys(line.split()[0] for line in programs):
        done = run(f"{program} --help")
        need(done.returncode == 0 and done.stderr == "", f"{program}: status {done.returncode}, {done.stderr!r}")
        need("--seconds" in done.stdout and "1024" in done.stdout, f"{program}: {done.stdout!r}")


def run_tests(module: dict[str, object]) -> int:
    """Those of a module's globals(); the exit status."""
    failed = 0
    for name, test in [(n, f) for n, f in module.items() if n.startswith("test_")]:
        try:
            test()
            print(f"ok      {name}", flush=True)  # what hangs is killed: it is the test after these
        except Exception:
            failed += 1
            print(f"FAILED  {name}")
            traceback.print_exc()
    return 1 if failed else 0
