"""`lockswap top PID`: the locks that threads wait for now, again and again."""

import sys
import time as clock
from collections import Counter
from dataclasses import dataclass

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.base.process import has_ended
from lockswap.base.text import plural, share, time
from lockswap.profile.attach import Attached
from lockswap.profile.look import Look, look, waited_ns
from lockswap.profile.names import Function, Names, site
from lockswap.profile.summary import LOCKS, is_probe, quantile
from lockswap.profile.window import MODES, difference

CLEAR = "\x1b[H\x1b[2J"
_WIDTH = 80


@dataclass(frozen=True)
class Row:
    lock: dict  # the difference
    threads: float  # that waited, on average
    waiting: int  # threads that wait at this moment
    longest_ns: int  # of these


def run(paths: Paths, pid: int, top: int, interval: float, count: int | None) -> int:
    program = Attached(pid).program  # an error if there is nothing to look at
    names = Texts()
    last = look(paths, pid)
    shown = 0
    try:
        while count is None or shown < count:
            clock.sleep(interval)
            try:
                now = look(paths, pid)
            except UserError as error:
                said = f"{program} (process {pid}) has ended" if has_ended(pid) else str(error)
                print(f"lockswap top: {said}")
                return 0
            if now is not None:
                same = (
                    last is not None and last.recording == now.recording and last.process["pid"] == now.process["pid"]
                )
                text = as_text(pid, last if same else None, now, top, names)
            else:
                text = f"lockswap top: {program} (process {pid}) has taken no lock yet\n"
            print((CLEAR if sys.stdout.isatty() else "") + text, flush=True)
            last, shown = now, shown + 1
    except KeyboardInterrupt:
        pass
    return 0


def rows(last: Look | None, now: Look) -> list[Row]:
    """The locks that threads waited for in between, the longest waits first."""
    passed = now.at - last.at if last else (now.process["last_ns"] - now.process["started_ns"]) / 1e9
    new = difference(last.process, now.process) if last else now.process
    changed = {one["class"]: one for one in new["locks"]}
    found = []
    for lock in now.process["locks"]:
        if lock["kind"] not in LOCKS or is_probe(now.process, lock):
            continue
        waits = now.waits(lock["class"]).values()
        threads = waited_ns(last, now, lock, int(passed * 1e9)) / 1e9 / max(passed, 1e-3)
        if lock["class"] in changed or waits:
            quiet = lock | {mode: _nothing(lock[mode]) for mode in MODES if mode in lock}
            found.append(Row(changed.get(lock["class"], quiet), threads, len(waits), max(waits, default=0)))
    return sorted(found, key=lambda row: (-row.threads, -_sum(row.lock, "acquisitions")))


def _others(now: Look) -> list[Row]:
    """What threads wait for that nobody holds: conditions, semaphores, barriers and threads' ends."""
    found = []
    for lock in now.process["locks"]:
        ages = now.waits(lock["class"]).values() if lock["kind"] not in LOCKS else ()
        if ages:
            found.append(Row(lock, 0, len(ages), max(ages)))
    return sorted(found, key=lambda row: -row.waiting)


def as_text(pid: int, last: Look | None, now: Look, top: int, names: "Texts") -> str:
    passed = now.at - last.at if last else (now.process["last_ns"] - now.process["started_ns"]) / 1e9
    pairs = (difference(last.process, now.process) if last else now.process)["pairs"]
    found = rows(last, now)
    waiting = sum(row.waiting for row in found)
    head = f"lockswap top: {now.process['program']} (process {pid})"
    if waiting:
        head += f"; {_waiting(waiting)}: `lockswap why {pid}` says which"
    lines = [head, f"{'waiting':>8} {'waits/s':>9} {'taken/s':>10} {'read':>6} {'p99':>9}  lock"]
    others = _others(now)
    names.prepare(now.process, [*(row.lock for row in found[:top]), *(row.lock for row in others[:top])], pairs)
    for row in found[:top]:
        taken, contended = _sum(row.lock, "acquisitions"), _sum(row.lock, "contended")
        reads = share(row.lock["shared"]["acquisitions"] / taken) if taken and "shared" in row.lock else "-"
        line = f"{row.threads:>8.2f} {_rate(contended, passed):>9} {_rate(taken, passed):>10} {reads:>6} "
        lines.append(f"{line}{_p99(row.lock):>9}  {names.lock(now.process, row.lock)}")
        if row.waiting:
            lines.append(f"{'':>9}{_waiting(row.waiting)}, the longest for {time(row.longest_ns)}")
        lines += [f"{'':>9}{line}" for line in _hottest(now.process, row.lock, pairs, names)]
    if not found:
        lines.append("no lock was taken")
    for row in others[:top]:
        name = names.lock(now.process, row.lock)
        if row.lock["kind"] == "join":
            name = f"a thread's exit, joined in {name.removeprefix('join ')}"
        longest = f"{'' if row.waiting == 1 else 'the longest '}for {time(row.longest_ns)}"
        lines.append(f"{_waiting(row.waiting)} for {name}, {longest}")
    return "\n".join(lines) + "\n"


def _waiting(count: int) -> str:
    return f"{plural(count, 'thread')} {'waits' if count == 1 else 'wait'} now"


def _hottest(process: dict, lock: dict, pairs: list[dict], names: "Texts") -> list[str]:
    mine = [one for one in pairs if one["class"] == lock["class"]]
    if not mine:
        return []
    sites: Counter = Counter()
    for one in mine:
        sites[(names.site(process, one["holder"]), names.site(process, one["waiter"]))] += one["wait_ns"]
    (holder, waiter), _ = sites.most_common(1)[0]
    return [f"held until {holder}", f"waited at  {waiter}"]


def _sum(lock: dict, name: str) -> int:
    return sum(lock[mode][name] for mode in MODES if mode in lock)


def _nothing(mode: dict) -> dict:
    return {name: [] if isinstance(value, list) else 0 for name, value in mode.items()}


def _rate(n: int, seconds: float) -> str:
    return f"{n / max(seconds, 1e-3):,.0f}"


def _p99(lock: dict) -> str:
    waits: Counter = Counter()
    for mode in MODES:
        if mode in lock:
            waits.update(dict(map(tuple, lock[mode]["waits"])))
    most = max(lock[mode]["most_wait_ns"] for mode in MODES if mode in lock)
    return time(quantile(waits, 0.99, most)) if waits else "-"


class Texts:
    """Names of locks and places, each looked up once."""

    def __init__(self) -> None:
        self._locks: dict[tuple, str] = {}
        self._sites: dict[tuple, Function] = {}

    def prepare(self, process: dict, locks: list[dict], pairs: list[dict]) -> None:
        classes = {one["class"] for one in locks}
        wanted = {one["stack"] for one in locks}
        wanted |= {one[side] for one in pairs if one["class"] in classes for side in ("holder", "waiter")}
        wanted -= {stack for pid, stack in self._sites if pid == process["pid"]}
        unnamed = [one for one in locks if (process["pid"], one["class"]) not in self._locks]
        if not wanted and not unnamed:
            return
        stacks = {one["id"]: one["frames"] for one in process["stacks"] if one["id"] in wanted}
        part = process | {"stacks": [{"frames": frames} for frames in stacks.values()], "locks": unnamed}
        names = Names([part])
        for id_, frames in stacks.items():
            found = site(names.stack(part, frames))
            if found is not None:
                self._sites[(process["pid"], id_)] = found
        for one in unnamed:
            name = names.variable(part, one["object"]) if one["object"] else str(self.site(process, one["stack"]))
            self._locks[(process["pid"], one["class"])] = f"{one['kind']} {name}"

    def lock(self, process: dict, lock: dict) -> str:
        return self._locks[(process["pid"], lock["class"])]

    def site(self, process: dict, stack: int) -> Function:
        return self._sites.get((process["pid"], stack), Function("(not known)"))
