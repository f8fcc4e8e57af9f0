"""Which CPUs this process may use, where they are, and to which of them a program is confined."""

import os
from dataclasses import dataclass
from pathlib import Path


def read_text(path: str) -> str:
    """A file of /proc or /sys; empty if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


@dataclass(frozen=True)
class Cpu:
    number: int
    node: int
    package: int
    core: int


def cpus() -> list[Cpu]:
    """The CPUs that this process may use, with their place."""
    found = []
    for number in sorted(os.sched_getaffinity(0)):
        base = f"/sys/devices/system/cpu/cpu{number}"
        package = read_text(f"{base}/topology/physical_package_id") or "0"
        core = read_text(f"{base}/topology/core_id") or str(number)
        node = next((int(p.name[4:]) for p in Path(base).glob("node[0-9]*")), 0)
        found.append(Cpu(number, node, int(package), int(core)))
    return found


def topology_summary() -> str:
    all_cpus = cpus()
    packages = len({cpu.package for cpu in all_cpus})
    cores = len({(cpu.package, cpu.core) for cpu in all_cpus})
    nodes = len({cpu.node for cpu in all_cpus})
    return ", ".join(
        f"{count} {word}{'' if count == 1 else 's'}"
        for count, word in ((packages, "package"), (cores, "core"), (len(all_cpus), "CPU"), (nodes, "NUMA node"))
    )


def thread_counts(most: int) -> tuple[int, ...]:
    """1, 2, 4 ... and `most`."""
    return (*(2**power for power in range((most - 1).bit_length())), most)


def pin_set(policy: str, threads: int, all_cpus: list[Cpu] | None = None) -> list[int]:
    """The CPUs to which a program with so many threads is confined.

    compact: neighbours first (siblings of a core, cores of a package); scatter: as far apart as there is.
    """
    all_cpus = cpus() if all_cpus is None else all_cpus
    by_place = sorted(all_cpus, key=lambda cpu: (cpu.node, cpu.package, cpu.core, cpu.number))
    if policy == "compact":
        order = by_place
    else:
        # First one thread of one core of each package, then the next core of each, siblings last.
        order, used_cores, per_package = [], {}, {}
        ranked = []
        for cpu in by_place:
            core = (cpu.package, cpu.core)
            sibling = used_cores.get(core, 0)
            used_cores[core] = sibling + 1
            rank = per_package.get((cpu.package, sibling), 0)
            per_package[(cpu.package, sibling)] = rank + 1
            ranked.append((sibling, rank, cpu.node, cpu.package, cpu))
        order = [entry[-1] for entry in sorted(ranked, key=lambda entry: entry[:4])]
    return sorted(cpu.number for cpu in order[: max(1, threads)])
