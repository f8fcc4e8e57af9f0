"""Runs programs under the preload library; the checks of this folder share it."""

import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import emulated

SLOW_SECONDS = 60


class Skip(Exception):
    pass


def run_to_the_end(command: list, what: str, **how: object) -> subprocess.CompletedProcess[str]:
    """Runs a program, and captures what it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how) as process:
        try:
            said = finish(process, what)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, *said)


def finish(process: subprocess.Popen[str], what: str, given: str | None = None) -> tuple[str, str]:
    """Waits for the end of a program, and returns what it printed.

    However long that takes: others may have the processors. `measured` ends a test that hangs, and then the line
    printed here says in which program.
    """
    try:
        return process.communicate(given, timeout=SLOW_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"        still running after {SLOW_SECONDS} s: {what}", flush=True)
        return process.communicate()


class Under:
    """The library under test, and the folder of the programs built beside this file."""

    def __init__(self, library: str, registry: str, folder: str) -> None:
        self.library, self.folder = Path(library).resolve(), Path(folder).resolve()
        self.registry = emulated.command(registry)
        listed = json.loads(subprocess.run(self.registry, check=True, capture_output=True, text=True).stdout)
        self.locks = [lock["name"] for lock in listed["rwlocks"]]
        self.passed_through = [lock["name"] for lock in listed["mutexes"] if lock["passes_through"]]
        self.rw_passed_through = [lock["name"] for lock in listed["rwlocks"] if lock["passes_through"]]
        # Where one does: BRAVO, and the lock under it.
        self.biased, self.plain = next(
            (lock["name"], lock["under"])
            for lock in listed["rwlocks"]
            if lock["biased"] and lock["compared_by_default"]
        )
        # BRAVO's asymmetric form of the same.
        self.asymmetric = next(
            lock["name"] for lock in listed["rwlocks"] if lock["asymmetric"] and lock["under"] == self.plain
        )
        # Not auto, which is one of the others.
        mutexes = [lock for lock in listed["mutexes"] if not lock["chosen"]]
        self.mutexes = [f"mutex:{lock['name']}" for lock in mutexes]
        self.aliases = {mutex["name"]: mutex["aliases"] for mutex in mutexes}
        # The code behind the lock's name as a mutex, which has queue nodes.
        self.mutex = next(f"mutex:{m['same_code_as']}" for m in mutexes if m["name"] == self.plain)
        self.is_full = "--full" in sys.argv[4:]
        self.some_locks = self.of_each_kind(listed["rwlocks"])
        self.some_mutexes = [f"mutex:{name}" for name in self.of_each_kind(mutexes)]
        # Bytes of a block beside the pthread object, of locks that do not fit into it.
        self.block_bytes: dict[str, int] = {}
        for listed_locks, names in ((listed["rwlocks"], self.locks), (mutexes, self.mutexes)):
            sizes = [lock["footprint_bytes"] for lock in listed_locks]
            self.block_bytes |= {name: size - min(sizes) for name, size in zip(names, sizes, strict=True)}

    def of_each_kind(self, rows: list[dict]) -> list[str]:
        """Locks for what depends on how they are kept, and not on their algorithms: glibc's, one that isn't handed off,
        queues with nodes, BRAVO in both forms, RLU, and the smallest and the largest block beside the object. All
        locks with --full."""
        own = [row for row in rows if not (row["passes_through"] or row["chosen"] or row["under"])]
        by_size = sorted(own, key=lambda row: row["footprint_bytes"])
        in_object = [row for row in own if row["footprint_bytes"] == by_size[0]["footprint_bytes"]]
        if "claims" in rows[0]:  # rwlocks
            kinds = {(row["hands_off"], row["asymmetric"]): row["name"] for row in reversed(in_object)}
            names = {self.plain, self.biased, self.asymmetric, *kinds.values()}
        else:
            names = {row["name"] for row in in_object if not row["same_code_as"]}
        names |= {row["name"] for row in (by_size[len(in_object)], by_size[-1])}
        names.add(next(row["name"] for row in rows if row["passes_through"]))
        return [row["name"] for row in rows if self.is_full or row["name"] in names]

    def run(
        self,
        *command: object,
        lock: str | None = "",
        preload: str | None = None,
        **variables: object,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program. lock None: without the library; "": nothing chosen; mutex:NAME: a mutex. `preload` replaces
        LD_PRELOAD."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_") and k != "LD_PRELOAD"}
        if lock:
            mutex = lock.startswith("mutex:")
            environment["LOCKSWAP_MUTEX" if mutex else "LOCKSWAP_RWLOCK"] = lock.removeprefix("mutex:")
        if preload is None:
            preload = "" if lock is None else str(self.library)
        if preload:
            environment["LD_PRELOAD"] = preload
        environment |= {k: str(v) for k, v in variables.items()}
        name, *arguments = map(str, command)
        program = emulated.command(self.folder / name, *arguments)
        what = f"{' '.join(map(str, command))}, lock {lock!r}, {variables}"
        return run_to_the_end(program, what, env=environment)

    def chosen_mutex(self, topology: str) -> str:
        """What the registry says that `auto` takes on such a machine."""
        environment = os.environ | {"LOCKSWAP_TOPOLOGY": topology}
        out = subprocess.run(self.registry, check=True, capture_output=True, text=True, env=environment).stdout
        (chosen,) = (row["chosen"] for row in json.loads(out)["mutexes"] if row["chosen"])
        return chosen

    def run_well(self, *command: object, **how: object) -> subprocess.CompletedProcess[str]:
        result = self.run(*command, **how)
        said = (result.stdout + result.stderr)[-900:]
        what = f"{' '.join(map(str, command))} {how}: status {result.returncode}, said {said!r}"
        need(result.returncode == 0, what)
        return result

    def stats(self, *command: object, **how: object) -> dict:
        """The statistics that one process wrote."""
        with tempfile.TemporaryDirectory() as place:
            self.run_well(*command, LOCKSWAP_STATS=f"{place}/stats", **how)
            files = list(Path(place).iterdir())
            need(len(files) == 1, f"{len(files)} files of statistics were written")
            return json.loads(files[0].read_text())


def need(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(what)


def installed(pattern: str) -> Path:
    for place in ("usr/lib", "lib"):
        for found in sorted((emulated.root() / place).glob(f"*/{pattern}")):
            return found
    raise Skip(f"{pattern} is not installed")


def run_tests(tests: dict) -> int:
    """Runs what is named test_..., but what is left out. Returns 0: good, 1: a test failed, 77: all were skipped."""
    outcomes = []
    for name, test in tests.items():
        if not name.startswith("test_") or emulated.is_left_out(f"{Path(sys.argv[0]).stem}.{name}"):
            continue
        start, why = time.monotonic(), ""
        try:
            test()
            outcomes.append("ok")
        except Skip as reason:
            outcomes.append("skipped")
            why = f": {reason}"
        except AssertionError as error:
            outcomes.append("FAILED")
            why = f": {error}"
        except Exception:
            outcomes.append("FAILED")
            why = f":\n{traceback.format_exc()}"
        print(f"{outcomes[-1]:7} {name[5:].replace('_', ' ')} ({time.monotonic() - start:.1f} s){why}", flush=True)
    return 1 if "FAILED" in outcomes else 0 if "ok" in outcomes else 77


def under_test(usage: str) -> Under:
    if len(sys.argv) < 4:
        print(f"usage: {Path(sys.argv[0]).name} {usage}", file=sys.stderr)
        sys.exit(2)
    return Under(*sys.argv[1:4])
