"""The machine: what it is (for env.json) and how busy it is (for each run). No host name, no user's path."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lockswap.base.paths import Paths
from lockswap.base.version import VERSION, python_packages
from lockswap.run import packages
from lockswap.run.cpus import read_text, topology_summary

SCHEMA = 1


def environment(paths: Paths, library_version: str, perf: "list[str] | None", programs: Iterable[str]) -> dict:
    """Everything that may matter to the figures; `programs` are those that are measured."""
    cpus = sorted(os.sched_getaffinity(0))
    return {
        "schema": SCHEMA,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": {
            "model": _cpu_model(),
            "online": os.cpu_count(),
            "usable": len(cpus),
            "topology": topology_summary(),
            "governor": read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not visible",
            "virtualisation": _virtualisation(),
        },
        "memory_mb": memory_mb("MemTotal"),
        "os": _os_name(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "glibc": os.confstr("CS_GNU_LIBC_VERSION"),
        "compiler": compiler_of(paths.library),
        "packages": packages.versions(programs),
        "python": {"version": platform.python_version(), "packages": python_packages()},
        "lockswap": {
            "library": library_version,
            "harness": VERSION,
            "commit": paths.installed_commit or git_commit(paths.root),
        },
        "perf_events": perf if perf is not None else "perf is not usable here",
        "load_at_start": os.getloadavg()[0],
    }


def _cpu_model() -> str:
    match = re.search(r"^(?:model name|Processor|CPU part)\s*:\s*(.+)$", read_text("/proc/cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else platform.machine()


def _virtualisation() -> str:
    if shutil.which("systemd-detect-virt"):
        out = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True).stdout.strip()
        if out:
            return out
    return "virtual machine" if " hypervisor" in read_text("/proc/cpuinfo") else "none seen"


def _os_name() -> str:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', read_text("/etc/os-release"), re.MULTILINE)
    return match[1] if match else platform.system()


def memory_mb(key: str = "MemAvailable") -> int:
    match = re.search(rf"^{key}:\s+(\d+) kB", read_text("/proc/meminfo"), re.MULTILINE)
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
class Ticks:
    """/proc/stat's first line at one moment: all jiffies, and those that the hypervisor gave to others."""

    total: int
    steal: int

    @classmethod
    def now(cls) -> "Ticks":
        fields = read_text("/proc/stat").split("\n", 1)[0].split()[1:9]
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
