"""The machine: what it is (for env.json) and how busy it is (for each run). No host name, no user's path."""

import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lockswap import __version__
from lockswap.paths import Paths
from lockswap.registry import Registry

SCHEMA = 1


def environment(paths: Paths, registry: Registry, perf: "list[str] | None") -> dict:
    cpus = sorted(os.sched_getaffinity(0))
    return {
        "schema": SCHEMA,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": {
            "model": _cpu_model(),
            "online": os.cpu_count(),
            "usable": len(cpus),
            "topology": topology_summary(),
            "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not visible",
            "virtualisation": _virtualisation(),
        },
        "memory_mb": memory_mb("MemTotal"),
        "os": _os_name(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "compiler": compiler_of(paths.library),
        "lockswap": {
            "library": registry.version,
            "harness": __version__,
            "commit": git_commit(paths.root),
        },
        "perf_events": perf if perf is not None else "perf is not usable here",
        "load_at_start": os.getloadavg()[0],
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    match = re.search(r"^(?:model name|Processor|CPU part)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def _virtualisation() -> str:
    if shutil.which("systemd-detect-virt"):
        out = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True).stdout.strip()
        if out:
            return out
    return "virtual machine" if " hypervisor" in _read("/proc/cpuinfo") else "none seen"


def _os_name() -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
    return match[1] if match else platform.system()


def memory_mb(key: str = "MemAvailable") -> int:
    match = re.search(rf"^{key}:\s+(\d+) kB", _read("/proc/meminfo"), re.MULTILINE)
    return int(match[1]) // 1024 if match else 0


def compiler_of(library: Path) -> str:
    """What compiled the library, as the compiler itself wrote it there."""
    found = re.findall(rb"(?:GCC: \([^)]*\) [0-9.]+|clang version [0-9.]+)", library.read_bytes())
    return ", ".join(sorted({text.decode() for text in found})) or "not recorded in the library"


def git_commit(root: Path) -> str:
    try:
        out = subprocess.run(
            ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "not a git checkout"
    return out


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
        package = _read(f"{base}/topology/physical_package_id") or "0"
        core = _read(f"{base}/topology/core_id") or str(number)
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


@dataclass(frozen=True)
class Ticks:
    """/proc/stat's first line at one moment: all jiffies, and those that the hypervisor gave to others."""

    total: int
    steal: int

    @classmethod
    def now(cls) -> "Ticks":
        fields = _read("/proc/stat").split("\n", 1)[0].split()[1:9]
        values = [int(field) for field in fields] + [0] * (8 - len(fields))
        return cls(sum(values), values[7])

    def steal_share_since(self, before: "Ticks") -> float:
        passed = self.total - before.total
        return (self.steal - before.steal) / passed if passed > 0 else 0.0


def cpus_available(meter: Path, milliseconds: int = 25) -> float | None:
    """How many of the usable CPUs really ran for us, measured by a short spin on all of them; as a share."""
    try:
        out = subprocess.run([meter, "probe", str(milliseconds)], capture_output=True, text=True, timeout=10).stdout
        there, usable = out.split()
        return float(there) / int(usable)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
