"""A process as /proc shows it, if it may be traced: where each thread sleeps, and its memory."""

import os
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.process import folder_of
from lockswap.outside.machine import Machine, here

_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
_WAIT, _LOCK_PI, _WAIT_BITSET, _LOCK_PI2 = 0, 6, 9, 13
_WAITS = (_WAIT, _WAIT_BITSET, _LOCK_PI, _LOCK_PI2)
_COMMAND = 0x7F
_PRIVATE = 0x80
_REALTIME = 0x100
_BITS = _COMMAND | _PRIVATE | _REALTIME
_ELF_64 = 2
_MOST_BYTES = 1 << 16  # of a status file, in which the user's groups are listed
_NOT_RUNNING = ("S", "T", "t")  # asleep, or stopped by a signal or a debugger in its call
_LIBC = re.compile(r"/libc(\.so\.6|-2\.\d+\.so)$")
_PARTS_OF_LIBC = re.compile(r"/(libc|libpthread|librt|ld|ld-linux[\w-]*)([-.][\w.-]*)?\.so(\.\d+)*$")
_VERSION = re.compile(rb"GNU C Library[^\n]* version (\d+)\.(\d+)")


@dataclass(frozen=True)
class Call:
    """The system call in which a thread sleeps, with its stack pointer and program counter."""

    number: int
    arguments: tuple[int, ...]
    sp: int
    pc: int


@dataclass(frozen=True)
class FutexWait:
    address: int
    value: int  # what the word had when the wait began
    command: int
    is_private: bool
    has_deadline: bool

    @property
    def inherits_priority(self) -> bool:
        return self.command in (_LOCK_PI, _LOCK_PI2)

    @property
    def is_plain(self) -> bool:
        """FUTEX_WAIT, which glibc has for mutexes, barriers and pthread_once."""
        return self.command == _WAIT


@dataclass(frozen=True)
class Glimpse:
    """A thread in one moment. Two equal ones: it has not run between them."""

    call: Call | None  # None: it ran, or the kernel doesn't say where it sleeps
    switches: str  # how often it gave its processor up, and had to
    state: str

    @property
    def sleeps(self) -> bool:
        return self.call is not None and self.state in _NOT_RUNNING


class Target:
    """Raises UserError, with one line that says why, if the process may not be traced."""

    def __init__(self, pid: int) -> None:
        machine = here()
        if machine is None:
            raise UserError("a process without lockswap can be inspected on x86-64 and aarch64 only")
        self.pid = pid
        self.machine: Machine = machine
        self._proc = Path(f"/proc/{pid}")
        self._shown = folder_of(pid)
        try:
            self._memory = os.open(self._shown / "mem", os.O_RDONLY | os.O_CLOEXEC)
            with (self._shown / "exe").open("rb") as program:
                bits = program.read(5)[4:]
            (self._shown / "syscall").read_bytes()
        except PermissionError as error:
            raise UserError(refusal(pid)) from error
        except FileNotFoundError as error:
            if self._proc.is_dir() and (self._shown / "mem").exists():
                raise UserError("this kernel has no /proc/PID/syscall (CONFIG_HAVE_ARCH_TRACEHOOK)") from error
            raise UserError(f"process {pid} has just ended") from error
        except OSError as error:
            raise UserError(f"process {pid} has just ended") from error
        if bits != bytes([_ELF_64]):
            raise UserError(f"process {pid} is a 32-bit program, which can only be inspected if it runs with lockswap")

    def __enter__(self) -> "Target":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._memory)

    def glimpse(self, tid: int) -> Glimpse | None:
        """None: the thread has ended."""
        return glimpse(self.pid, tid)

    def call(self, tid: int) -> Call | None:
        """None: it runs. Raises OSError if the thread has ended."""
        return _call(_read(f"{self._proc}/task/{tid}/syscall"))

    def futex_wait(self, call: Call | None) -> FutexWait | None:
        """None: it sleeps in another call, or runs."""
        if call is None or call.number not in (self.machine.futex, self.machine.restart):
            return None
        address, operation, value, limit = call.arguments[:4]
        command = operation & _COMMAND
        if command not in _WAITS or operation & ~_BITS:
            return None
        if call.number == self.machine.restart and not operation & (_PRIVATE | _REALTIME):
            return None  # poll's number of descriptors, say
        return FutexWait(address, value & 0xFFFFFFFF, command, bool(operation & _PRIVATE), limit != 0)

    def has_signal(self, tid: int) -> bool:
        """Whether a signal is pending that the thread doesn't block."""
        try:
            status = _read(f"{self._proc}/task/{tid}/status")
        except OSError:
            return False
        masks = dict(line.split(":\t", 1) for line in status.splitlines() if line.startswith(("Sig", "Shd")))
        pending, shared, blocked = (int(masks.get(name, "0"), 16) for name in ("SigPnd", "ShdPnd", "SigBlk"))
        return bool((pending | shared) & ~blocked)

    def goes_on(self, call: Call | None) -> bool:
        """Whether a thread that is stopped in this call does not notice it."""
        if call is None or call.number in self.machine.restarted:
            return True
        if call.number not in self.machine.restarted_on_pipes:
            return False
        try:
            return str((self._shown / f"fd/{call.arguments[0]}").readlink()).startswith("pipe:")
        except OSError:
            return False

    def read(self, address: int, size: int) -> bytes:
        """As much of it as can be read."""
        try:
            return os.pread(self._memory, size, address)
        except (OSError, OverflowError, ValueError):
            return b""

    def word(self, address: int, size: int = 4) -> int | None:
        found = self.read(address, size)
        return int.from_bytes(found, "little") if len(found) == size else None

    def libc_version(self) -> tuple[int, int]:
        """(0, 0): its C library isn't glibc, or is part of the program."""
        path = self.libc()
        try:
            found = _VERSION.search(Path(path).read_bytes()) if path else None
        except OSError:
            found = None
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def libc(self) -> str:
        """The file of glibc; empty if the program uses another one, or has it in itself."""
        try:
            maps = (self._shown / "maps").read_text(errors="surrogateescape").splitlines()
        except OSError:
            return ""
        return next((word for line in maps if _LIBC.search(word := line.rpartition(" ")[2])), "")

    def words(self, address: int, count: int) -> tuple[int, ...] | None:
        found = self.read(address, 4 * count)
        return struct.unpack(f"<{count}I", found) if len(found) == 4 * count else None


def glimpse(pid: int, tid: int) -> Glimpse | None:
    """None: the thread has ended. Works without the right to trace it, but then its call is not known."""
    folder = f"/proc/{pid}/task/{tid}"
    try:
        call = _call(_read(f"{folder}/syscall"))
    except OSError:
        call = None
    try:
        lines = _read(f"{folder}/status").splitlines()
    except OSError:
        return None
    state = next((one.split()[1] for one in lines if one.startswith("State:")), "")
    return Glimpse(call, " ".join(lines[-2:]), state)


def refusal(pid: int) -> str:
    """Why the kernel does not let this process be traced, and what to do."""
    start = "start it with `lockswap profile -- CMD` next time"
    begin = f"process {pid} runs without lockswap, and the kernel does not let you look into it: "
    return f"{begin}{who_may_trace(start)}"


def who_may_trace(otherwise: str) -> str:
    """Why the kernel does not let another process be traced, and who may; or what to do otherwise."""
    if os.geteuid() == 0:
        return f"root has no CAP_SYS_PTRACE here; give it to the container, ask from outside of it, or {otherwise}"
    try:
        scope = _YAMA.read_text().strip()
    except OSError:
        scope = "0"
    if scope == "3":
        return f"{_YAMA} is 3, which forbids it to all until the next boot; {otherwise}"
    if scope == "2":
        return f"{_YAMA} is 2, so only root may; ask as root, or {otherwise}"
    if scope == "1":
        return f"{_YAMA} is 1; ask as root, or set it to 0 (sysctl kernel.yama.ptrace_scope=0), or {otherwise}"
    return f"ask as its user or as root, or {otherwise}"


def is_libc(file: str) -> bool:
    return _PARTS_OF_LIBC.search(file) is not None


def _read(path: str) -> str:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, _MOST_BYTES).decode(errors="replace")
    finally:
        os.close(opened)


def _call(line: str) -> Call | None:
    words = line.split()
    if len(words) != 9:  # "running", or "-1 SP PC"
        return None
    arguments = tuple(int(word, 16) for word in words[1:7])
    return Call(int(words[0]), arguments, int(words[7], 16), int(words[8], 16))
