"""Counts as text: OpenMetrics, or the older format that Prometheus calls text.

prometheus_client could write the same, but it makes an object of each sample, and a scrape of all locks is to take less
than 5 ms. So it only reads our output in the tests.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from lockswap.metrics.labels import Labelled
from lockswap.metrics.record import BOUNDS, SUFFIX, Counts, Record

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Scraped:
    record: Record
    is_alive: bool | None
    locks: list[Labelled]


@dataclass(frozen=True)
class Family:
    name: str  # without the suffix of its samples
    type: str
    help: str


_PROCESS = Family("lockswap_process_info", "gauge", "A process that counts, with the locks that it runs.")
_ALIVE = Family("lockswap_process_alive", "gauge", "1 while the process runs, 0 once it has ended.")
_STARTED = Family("lockswap_process_start_time_seconds", "gauge", "When the process began to count, since 1970.")
_UNREADABLE = Family("lockswap_unreadable_files", "gauge", "Files of the folder that can't be read.")
_COUNTERS: list[tuple[Family, Callable[[Counts], int]]] = [
    (Family("lockswap_acquisitions", "counter", "Acquisitions of the lock."), lambda c: c.acquisitions),
    (Family("lockswap_failed_tries", "counter", "Tries that found the lock taken."), lambda c: c.failed_tries),
    (Family("lockswap_timeouts", "counter", "Acquisitions that were given up at a deadline."), lambda c: c.timeouts),
]
_WAIT = Family("lockswap_wait_seconds", "histogram", "How long threads waited for the lock.")
_HOLD = Family("lockswap_hold_seconds", "histogram", "How long threads held the lock.")


def render(processes: list[Scraped], unreadable: int, openmetrics: bool = True) -> str:
    lines: list[str] = []

    def put(family: Family, samples: Iterable[str]) -> None:
        name = family.name
        if family.type == "counter" and not openmetrics:
            name += "_total"
        lines.append(f"# HELP {name} {family.help}\n# TYPE {name} {family.type}\n")
        if openmetrics and name.endswith("_seconds"):
            lines.append(f"# UNIT {name} seconds\n")
        lines.extend(samples)

    labels = [(one, list(_labels(one))) for one in processes]
    put(_PROCESS, (_info(one.record) for one in processes))
    alive = [one for one in processes if one.is_alive is not None]
    put(_ALIVE, (f"lockswap_process_alive{{{_process(one.record)}}} {int(one.is_alive)}\n" for one in alive))
    put(_STARTED, (f"{_STARTED.name}{{{_process(one.record)}}} {one.record.started:.3f}\n" for one in processes))
    put(_UNREADABLE, [f"lockswap_unreadable_files {unreadable}\n"])
    for family, value in _COUNTERS:
        always = family.name == "lockswap_acquisitions"
        put(
            family,
            (
                f"{family.name}_total{{{label}}} {number}\n"
                for _, all_labels in labels
                for label, counts in all_labels
                if (number := value(counts)) or always
            ),
        )
    all_counts = [one for _, some in labels for one in some]
    put(_WAIT, _histograms(_WAIT.name, ((label, c.waits, c.wait_ns) for label, c in all_counts)))
    if any(one.record.counts_holds for one in processes):
        put(_HOLD, _histograms(_HOLD.name, ((label, c.holds, c.hold_ns) for label, c in all_counts)))
    if openmetrics:
        lines.append("# EOF\n")
    return "".join(lines)


def _histograms(name: str, all_of_family: Iterable[tuple[str, tuple[int, ...], int]]) -> Iterator[str]:
    """Without those that are empty: most locks are never waited for."""
    bounds = [f',le="{bound}"}} ' for bound in (*BOUNDS, "+Inf")]
    for label, buckets, ns in all_of_family:
        sums = list(accumulate(buckets))
        if sums[-1]:
            begin = f"{name}_bucket{{{label}"
            yield "".join([f"{begin}{bound}{n}\n" for bound, n in zip(bounds, sums, strict=True)])
            yield f"{name}_sum{{{label}}} {ns / 1e9:.9f}\n{name}_count{{{label}}} {sums[-1]}\n"


def _labels(one: Scraped) -> Iterator[tuple[str, Counts]]:
    process = _process(one.record)
    for lock in one.locks:
        name = _escaped(lock.lock)
        for mode, counts in lock.counts.items():
            # Nothing is ever read from a mutex, and mostly nothing found no room.
            if counts.acquisitions or counts.failed_tries or counts.timeouts or any(counts.waits):
                yield f'{process},lock="{name}",kind="{lock.kind}",mode="{mode}"', counts


def _process(record: Record) -> str:
    """Its number alone isn't enough: a program that executes another one keeps it."""
    return f'program="{_escaped(record.program)}",process="{_escaped(record.path.name.removesuffix(SUFFIX))}"'


def _info(record: Record) -> str:
    says = f'pid="{record.pid}",version="{_escaped(record.version)}"'
    says += f',rwlock="{_escaped(record.rwlock)}",mutex="{_escaped(record.mutex)}"'
    return f"lockswap_process_info{{{_process(record)},{says}}} 1\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
