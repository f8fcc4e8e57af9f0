"""What this machine allows, whatever the program."""

import ctypes
import os
import platform
import shutil
from pathlib import Path

from lockswap.doctor.finding import Finding, note, ok, stops
from lockswap.run.cpus import read_text

OLDEST_GLIBC = (2, 31)  # as interpose/exports.h has it
_MEMBARRIER = {"x86_64": 324, "aarch64": 283}
_EXPEDITED = 1 << 3  # MEMBARRIER_CMD_PRIVATE_EXPEDITED, in the answer to MEMBARRIER_CMD_QUERY
_PRELOADED_FOR_ALL = Path("/etc/ld.so.preload")
_SIGNS_OF_CONTAINERS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def findings() -> list[Finding]:
    return [
        *architecture(),
        *glibc(),
        *membarrier(),
        *perf(),
        *tracing(),
        *filters(),
        *container(),
        *preloaded_for_all(),
    ]


def architecture(machine: str | None = None) -> list[Finding]:
    machine = machine or platform.machine()
    if machine in _MEMBARRIER:
        return []
    return [stops("architecture", f"this machine is {machine}: lockswap runs on x86_64 and aarch64")]


def glibc(version: str | None = None) -> list[Finding]:
    """That the layouts of its objects are known is the library's word (loads.py)."""
    said = version if version is not None else _libc_version()
    words = said.split()
    if len(words) != 2 or words[0] != "glibc":
        return [stops("glibc", "the C library here isn't glibc: take a distribution with glibc 2.31 or newer")]
    numbers = tuple(int(part) for part in words[1].split(".")[:2] if part.isdecimal())
    if numbers < OLDEST_GLIBC:
        return [stops("glibc", f"glibc {words[1]} is too old: lockswap needs 2.31 or newer, as Debian 11 has it")]
    return [ok("glibc", f"glibc {words[1]}")]


def _libc_version() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ""


def membarrier() -> list[Finding]:
    number = _MEMBARRIER.get(platform.machine())
    if number is None:
        return []
    commands = ctypes.CDLL(None, use_errno=True).syscall(number, 0, 0)
    if commands >= 0 and commands & _EXPEDITED:
        return []
    return [
        note(
            "membarrier",
            "the kernel, or a filter, refuses membarrier: locks with 'asym' in their name can't be used here; "
            "take the same lock without it, or allow that call",
        )
    ]


def perf() -> list[Finding]:
    if shutil.which("perf") is None:
        return [note("perf", "perf is not installed, so comparisons have no counters: install linux-perf")]
    paranoid = read_text("/proc/sys/kernel/perf_event_paranoid")
    if os.geteuid() != 0 and paranoid.lstrip("-").isdecimal() and int(paranoid) > 2:
        return [
            note(
                "perf",
                f"only root may use perf here (kernel.perf_event_paranoid is {paranoid}), so comparisons have no "
                "counters: sysctl kernel.perf_event_paranoid=2",
            )
        ]
    return []


def tracing(scope: str | None = None, is_root: bool | None = None) -> list[Finding]:
    """Who may look into a process that was started without the library, and switch the library off."""
    scope = read_text("/proc/sys/kernel/yama/ptrace_scope") if scope is None else scope
    is_root = os.geteuid() == 0 if is_root is None else is_root
    what = "'why' and 'top' of programs that aren't recorded, and 'off'"
    if scope == "3":
        return [note("ptrace", f"nobody may trace processes until a reboot (ptrace_scope is 3): {what} don't work")]
    if scope in ("1", "2") and not is_root:
        cure = "use them as root, or sysctl kernel.yama.ptrace_scope=0"
        return [note("ptrace", f"only root may trace running processes (ptrace_scope is {scope}), for {what}: {cure}")]
    return []


def filters(status: str | None = None) -> list[Finding]:
    """A filter of the doctor's own process is one of what is started from here."""
    status = read_text("/proc/self/status") if status is None else status
    if not any(line.split() == ["Seccomp:", "2"] for line in status.splitlines()):
        return []
    return [
        note(
            "seccomp",
            "system calls are filtered here (seccomp): the filter must allow those of docs/production.md, "
            "section 'Filters and sandboxes'",
        )
    ]


def container() -> list[Finding]:
    if not any(sign.exists() for sign in _SIGNS_OF_CONTAINERS):
        return []
    return [note("container", "this is a container: the library must be in the image, or in a volume of it")]


def preloaded_for_all(file: Path = _PRELOADED_FOR_ALL) -> list[Finding]:
    names = read_text(str(file)).replace(":", " ").split()
    if any(Path(name).name.startswith("liblockswap") for name in names):
        return [
            stops(
                "ld.so.preload",
                f"{file} loads lockswap into every program, even those that repair the system: take it out, "
                "and set LD_PRELOAD where it is wanted ('lockswap service enable')",
            )
        ]
    if names:
        return [note("ld.so.preload", f"{file} loads {', '.join(names)} into every program, too")]
    return []
