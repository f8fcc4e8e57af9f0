"""Emulated machines with several memory nodes: qemu without hardware support, Debian's kernel, and a file system in
memory with the programs, their shared libraries and busybox.

They show what software makes of a machine, never how fast it is."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
# What is installed is not unpacked as well.
PLACES = (BUILD / "machines/root", Path("/"))
QEMU = "qemu-system-x86_64"
KERNEL, BUSYBOX = "boot/vmlinuz-*-cloud-amd64", "bin/busybox"
NODE_MB = 192  # of memory, each

BOOT_S = 600  # for the kernel, on a host that may be busy
BOOTED = b"@@booted\n"
END = re.compile(rb"^@@machine (\d+)\n", re.M)
# Nothing but panics on the console; and the host may be busy, or stop the machine for a while, so nothing is concluded
# from how long something takes.
OPTIONS = (
    "console=ttyS0 quiet loglevel=1 panic=-1 mitigations=off "
    "no_timer_check tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
)


class MachineError(Exception):
    """The machine did not run or did not end; the text is its output."""


def numbers(text: str) -> list[int]:
    """The numbers in a list such as "0-3,8"."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


@dataclass(frozen=True)
class Machine:
    """A machine to emulate. The kernel numbers nodes by the order of their first CPUs, then those that have none."""

    nodes: tuple[str, ...]  # in that order: the CPUs of each, such as "0-3,8"; "": it has memory alone
    smt: int = 1  # hardware threads of a core
    spare: int = 0  # further CPUs that could be plugged in, of the first node

    @classmethod
    def even(cls, nodes: int, cpus: int, smt: int = 1) -> Machine:
        each = cpus // nodes
        return cls(tuple(f"{n * each}-{n * each + each - 1}" for n in range(nodes)), smt)

    @property
    def cpus(self) -> list[int]:
        return sorted(cpu for node in self.nodes for cpu in numbers(node))

    @property
    def possible(self) -> int:
        return len(self.cpus) + self.spare

    @property
    def node_of_cpu(self) -> dict[int, int]:
        return {cpu: n for n, node in enumerate(self.nodes) for cpu in numbers(node)}

    def arguments(self) -> list[str]:
        cpus, smt = len(self.cpus), self.smt
        firsts = [min(numbers(node), default=cpus) for node in self.nodes]
        if self.cpus != list(range(cpus)) or firsts != sorted(firsts) or cpus % smt or self.spare % smt:
            raise MachineError(f"no such machine: {self}")
        sockets = self.possible // smt
        words = ["-smp", f"cpus={cpus},maxcpus={self.possible},sockets={sockets},cores=1,threads={smt}"]
        words += ["-m", str(NODE_MB * len(self.nodes))]
        for n, node in enumerate(self.nodes):
            spare = f"{cpus}-{self.possible - 1}" if self.spare and n == 0 else ""
            ranges = "".join(f",cpus={part}" for part in filter(None, [*node.split(","), spare]))
            words += ["-object", f"memory-backend-ram,id=m{n},size={NODE_MB}M"]
            words += ["-numa", f"node,nodeid={n},memdev=m{n}{ranges}"]
        return words


def missing() -> str:
    """What this host lacks to emulate one, or nothing."""
    absent = [word for word in (QEMU, "cpio") if shutil.which(word) is None]
    absent += [name for name in (KERNEL, BUSYBOX) if _part(name) is None]
    if not absent:
        return ""
    return f"no emulated machine without {', '.join(absent)}; './run.sh test --full' gets what is missing"


def _part(name: str) -> Path | None:
    return next((file for place in PLACES for file in sorted(place.glob(name))), None)


def with_libraries(files: Iterable[Path]) -> set[Path]:
    """And the shared libraries that they load, the loader among them."""
    found = set(files)
    for file in list(found):
        with file.open("rb") as f:
            if f.read(4) != b"\x7fELF":
                continue
        listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        found |= {Path(word) for word in re.findall(r"(/\S+) \(0x", listed)}
    return found


def file_system(job: str, files: Iterable[Path], work: Path) -> Path:
    """An archive for the kernel: each file has the place that it has here."""
    root, archive = work / "root", work / "root.cpio"
    busybox = _part(BUSYBOX)
    assert busybox is not None  # see missing()
    for file in with_libraries([*files, busybox]):
        place = root / (BUSYBOX if file == busybox else file.relative_to("/"))
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    (root / "bin/sh").symlink_to("busybox")
    shutil.copy(HERE / "init.sh", root / "init")
    (root / "init").chmod(0o755)
    (root / "job").write_text(job)
    names = b"\0".join(bytes(path.relative_to(root)) for path in sorted(root.rglob("*")))
    with archive.open("wb") as out:
        command = ["cpio", "--quiet", "--null", "-o", "-H", "newc", "-R", "0:0"]
        subprocess.run(command, cwd=root, input=names, stdout=out, check=True)
    return archive


def run(machine: Machine, job: str, files: Iterable[Path], limit_s: float, show: bool = False) -> tuple[str, int]:
    """Boots it, runs the shell script `job` there, in the current folder: its output and its status.

    `limit_s`: of real time, for the job. `show`: the output goes to stdout as it comes."""
    if problem := missing():
        raise MachineError(problem)
    here = shlex.quote(str(Path.cwd()))
    with tempfile.TemporaryDirectory(prefix="lockswap-machine-") as place:
        work = Path(place)
        archive = file_system(f"mkdir -p {here}\ncd {here}\n{job}\n", files, work)
        command = [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"]
        command += ["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,vendor=GenuineIntel"]
        command += machine.arguments()
        command += ["-kernel", str(_part(KERNEL)), "-append", OPTIONS, "-initrd", str(archive)]
        command += ["-serial", f"file:{work / 'console'}", "-serial", "stdio"]
        output = _Output(show)
        with (work / "qemu").open("wb") as said:
            qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said)
        try:
            why = output.read(qemu, limit_s)
        finally:
            qemu.kill()
            qemu.communicate()
        if output.status is None:
            console = "".join((work / name).read_text(errors="replace") for name in ("qemu", "console"))
            raise MachineError(f"{machine} {why}; its console: {console[-3000:]!r}; its output: {output.text[-6000:]}")
        return output.text, output.status


class _Output:
    """What comes from the second serial line."""

    def __init__(self, show: bool) -> None:
        self.said = b""
        self.show = show
        self.shown = 0  # bytes of the text

    def read(self, qemu: subprocess.Popen[bytes], limit_s: float) -> str:
        """Reads to the end. Returns why the machine did not end as it should."""
        assert qemu.stdout is not None
        until = time.monotonic() + BOOT_S
        with selectors.DefaultSelector() as selector:
            selector.register(qemu.stdout, selectors.EVENT_READ)
            while selector.select(max(0, until - time.monotonic())):
                block = os.read(qemu.stdout.fileno(), 65536)
                if not block:
                    return "ended by itself"
                boots = BOOTED not in self.said
                self.said += block
                if boots and BOOTED in self.said:
                    until = time.monotonic() + limit_s
                if self.show:
                    self._show()
        return f"has not ended after {limit_s:.0f} s" if BOOTED in self.said else "did not boot"

    @property
    def text(self) -> str:
        """The job's."""
        return self._job.decode(errors="replace")

    @property
    def status(self) -> int | None:
        end = END.search(self.said)
        return int(end[1]) if end else None

    @property
    def _job(self) -> bytes:
        end = END.search(self.said)
        return self.said[: end.start() if end else None].partition(BOOTED)[2]

    def _show(self) -> None:
        lines = self._job[: self._job.rfind(b"\n") + 1]
        sys.stdout.buffer.write(lines[self.shown :])
        sys.stdout.flush()
        self.shown = len(lines)
