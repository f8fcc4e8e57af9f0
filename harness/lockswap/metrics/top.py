"""`lockswap top` of a process that counts for monitoring: the same table, without the lines that threads wait at."""

import sys
import time as clock
from collections.abc import Iterator
from dataclasses import dataclass

from lockswap.base.errors import UserError
from lockswap.base.text import share, time
from lockswap.metrics.folder import is_alive, mapped_by
from lockswap.metrics.labels import Labelled, Labels
from lockswap.metrics.record import BOUNDS, Counts, Record, read
from lockswap.profile.top import CLEAR


@dataclass(frozen=True)
class Row:
    lock: Labelled
    before: Labelled | None

    def passed(self, name: str, modes: tuple[str, ...] = ("exclusive", "shared")) -> int:
        return sum(getattr(c, name) - getattr(old, name, 0) for c, old in self._pairs(modes))

    def waits(self) -> list[int]:
        """New ones, by bucket."""
        pairs = list(self._pairs(("exclusive", "shared")))
        return [sum(c.waits[n] - (old.waits[n] if old else 0) for c, old in pairs) for n in range(len(BOUNDS) + 1)]

    def _pairs(self, modes: tuple[str, ...]) -> Iterator[tuple[Counts, Counts | None]]:
        for mode in modes:
            if mode in self.lock.counts:
                yield self.lock.counts[mode], self.before.counts[mode] if self.before else None


def counts(pid: int) -> bool:
    return mapped_by(pid) is not None


def run(pid: int, top: int, interval: float, count: int | None) -> int:
    labels = Labels()
    last, last_at = _look(pid), clock.monotonic()
    shown = 0
    try:
        while count is None or shown < count:
            clock.sleep(interval)
            now, at = _look(pid), clock.monotonic()
            if now is None or last is None:
                print(f"lockswap top: process {pid} has ended or executes another program")
                return 0
            text = as_text(pid, rows(labels.of(last), labels.of(now)), now, at - last_at, top)
            print((CLEAR if sys.stdout.isatty() else "") + text, flush=True)
            last, last_at, shown = now, at, shown + 1
    except KeyboardInterrupt:
        pass
    return 0


def rows(last: list[Labelled], now: list[Labelled]) -> list[Row]:
    """The locks that were acquired or waited for in between, the longest waits first."""
    before = {(one.lock, one.kind): one for one in last}
    found = [Row(one, before.get((one.lock, one.kind))) for one in now]
    found = [row for row in found if row.passed("acquisitions") or row.passed("wait_ns")]
    return sorted(found, key=lambda row: (-row.passed("wait_ns"), -row.passed("acquisitions")))


def as_text(pid: int, found: list[Row], record: Record, passed: float, top: int) -> str:
    lines = [f"lockswap top: {record.program} (process {pid}), by its counts for monitoring"]
    lines.append(f"{'waiting':>8} {'waits/s':>9} {'taken/s':>10} {'read':>6} {'p99':>9}  lock")
    for row in found[:top]:
        taken, waits = row.passed("acquisitions"), row.waits()
        reads = share(row.passed("acquisitions", ("shared",)) / taken) if taken and row.lock.kind == "rwlock" else "-"
        line = f"{row.passed('wait_ns') / 1e9 / passed:>8.2f} {sum(waits) / passed:>9,.0f} {taken / passed:>10,.0f}"
        lines.append(f"{line} {reads:>6} {_p99(waits):>9}  {row.lock.kind} {row.lock.lock}")
    if not found:
        lines.append("no lock was taken")
    return "\n".join(lines) + "\n"


def _p99(waits: list[int]) -> str:
    """The bound of the bucket that the quantile is in."""
    whole, seen = sum(waits), 0
    if not whole:
        return "-"
    for bound, n in zip(BOUNDS, waits, strict=False):
        seen += n
        if seen >= 0.99 * whole:
            return f"≤{time(float(bound) * 1e9)}"
    return f">{time(float(BOUNDS[-1]) * 1e9)}"


def _look(pid: int) -> Record | None:
    try:
        path = mapped_by(pid)
    except UserError:
        return None
    record = read(path) if path is not None else None
    return record if record is not None and is_alive(record, []) is not False else None
