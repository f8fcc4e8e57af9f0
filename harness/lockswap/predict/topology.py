"""The processors of this machine as a machine file has them: all nodes alike, and all cores."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockswap.run.cpus import Cpu, read_text

_SYS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Grid:
    """`cores` are the cores, those of the first node first; each has its processors' numbers."""

    nodes: int
    threads: int  # of a core
    cores: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]  # processors that don't fit

    @property
    def processors(self) -> list[int]:
        return [number for core in self.cores for number in core]

    @classmethod
    def of(cls, cpus: Iterable[Cpu]) -> "Grid":
        """The largest grid in which each node and each core has what the smallest one has."""
        cpus = list(cpus)
        # Where the kernel shows fewer memory nodes than sockets, as in many virtual machines, sockets are the nodes.
        by_node = len({cpu.node for cpu in cpus}) >= len({cpu.package for cpu in cpus})
        nodes: dict[int, dict[tuple[int, int], list[int]]] = {}
        for cpu in cpus:
            cores = nodes.setdefault(cpu.node if by_node else cpu.package, {})
            cores.setdefault((cpu.package, cpu.core), []).append(cpu.number)
        threads = min(len(core) for cores in nodes.values() for core in cores.values())
        most = min(len(cores) for cores in nodes.values())
        taken = tuple(
            tuple(sorted(core)[:threads])
            for _, cores in sorted(nodes.items())
            for _, core in sorted(cores.items())[:most]
        )
        used = {number for core in taken for number in core}
        return cls(len(nodes), threads, taken, tuple(cpu.number for cpu in cpus if cpu.number not in used))


def caches(processor: int) -> list[str]:
    """Such as 'L2 Unified 1024K, shared by 2', as the kernel says of this processor."""
    found = []
    for folder in sorted((_SYS / f"cpu{processor}/cache").glob("index[0-9]*")):
        level, kind, size, shared = (read_text(f"{folder}/{k}") for k in ("level", "type", "size", "shared_cpu_list"))
        if level:
            found.append(f"L{level} {kind} {size}, shared by {_count(shared)}")
    return found


def _count(ranges: str) -> int:
    """How many '0-3,8' are."""
    ends = [part.split("-") for part in ranges.split(",") if part]
    return sum(int(end[-1]) - int(end[0]) + 1 for end in ends)
