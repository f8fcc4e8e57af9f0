"""A case on trial: once without the library, then twice under each lock: as users run it, and counted."""

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.choice import MUTEX
from suite.case import Case
from suite.counts import Counts, counts
from suite.place import Place
from suite.stage import Stage, Under
from suite.wrong import Wrong


@dataclass(frozen=True)
class Trial:
    place: Place
    case: Case
    folder: Path  # for the outputs

    def hold(self, unders: Sequence[Under], once: bool = False) -> bool:
        """Prints a line for each lock; False if one failed. `once`: runs once under each, the first one uncounted."""
        start = time.monotonic()
        try:
            expected = self._run("plain", None)
        except Wrong as wrong:
            print(f"FAILED  {self.case.name}, without the library: {wrong}; output in {self.folder}", flush=True)
            return False
        print(f"        {self.case.name}, without the library ({time.monotonic() - start:.1f} s)", flush=True)
        # All of them, though one failed: which locks fail says something.
        ways = [(number > 0,) if once else (False, True) for number in range(len(unders))]
        failed = [under for under, of_it in zip(unders, ways, strict=True) if not self._under(under, expected, of_it)]
        return not failed

    def _under(self, under: Under, expected: list[str], ways: Sequence[bool]) -> bool:
        start = time.monotonic()
        name = f"{under.lock}-{under.wait}"
        runs = {f"{name}-counted" if counted else name: counted for counted in ways}
        found: Counts | str = "not counted"
        try:
            for run, counted in runs.items():
                self._compare(self._run(run, under, counted), expected, run)
                if counted:
                    found = self._count(counts(self.folder / run), under)
        except Wrong as wrong:
            print(f"FAILED  {self.case.name} under {under}: {wrong}; output in {self.folder}/{name}*", flush=True)
            return False
        for done in runs:
            shutil.rmtree(self.folder / done)
        print(f"ok      {self.case.name} under {under} ({time.monotonic() - start:.1f} s): {found}", flush=True)
        return True

    def _run(self, name: str, under: Under | None, counted: bool = False) -> list[str]:
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        # A server's files may still be there when it was killed, or belong to a process that is just ending.
        with tempfile.TemporaryDirectory(prefix="lockswap-", dir=_fast_folder(), ignore_cleanup_errors=True) as tmp:
            stage = Stage(self.place, Path(tmp), out, self.case.limit, under, counted)
            try:
                self.case.play(stage)
                stage.close()
            except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
                # A check that stumbled over what it was to look at.
                raise Wrong(f"its output cannot be checked ({type(error).__name__}: {error})") from error
            finally:
                stage.end()
        for number, result in enumerate(stage.results):
            (out / f"result-{number}").write_text(result)
        return stage.results

    def _compare(self, results: list[str], expected: list[str], name: str) -> None:
        if results == expected:
            return
        if len(results) != len(expected):
            raise Wrong(f"{len(results)} results instead of {len(expected)}")
        number = next(i for i, pair in enumerate(zip(results, expected, strict=True)) if pair[0] != pair[1])
        line = _first_difference(results[number], expected[number])
        files = f"compare result-{number} of {name}/ and of plain/"
        raise Wrong(f"another result than without the library: {line} ({files})")

    def _count(self, found: Counts, under: Under) -> Counts:
        if found.processes == 0:
            raise Wrong("no process wrote statistics: the library was not there, or none could before it ended")
        least = self.case.acquisitions
        if found.acquisitions < least:
            raise Wrong(f"only {found.acquisitions} acquisitions, at least {least} were expected: is it bypassed?")
        if MUTEX in under.kinds and found.mutex_acquisitions < self.case.mutexes:
            raise Wrong(
                f"only {found.mutex_acquisitions} acquisitions of mutexes, at least {self.case.mutexes} were expected: "
                "are they bypassed?"
            )
        if found.to_glibc < self.case.to_glibc:
            raise Wrong(
                f"only {found.to_glibc} calls were handed to glibc, at least {self.case.to_glibc} were expected"
            )
        return found


def _fast_folder() -> str | None:
    """On tmpfs, where there is room; in containers there may be little."""
    place = "/dev/shm"
    return place if os.access(place, os.W_OK) and shutil.disk_usage(place).free > 1 << 30 else None


def _first_difference(got: str, wanted: str) -> str:
    ours, theirs = got.splitlines(), wanted.splitlines()
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), start=1):
        if a != b:
            return f"line {number} is {a[:80]!r}, not {b[:80]!r}"
    return f"{len(ours)} lines instead of {len(theirs)}"
