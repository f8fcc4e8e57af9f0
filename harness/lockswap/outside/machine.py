"""Numbers of the kernel's interface that differ between architectures."""

import platform
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    futex: int
    # From the beginning of glibc's descriptor of a thread to its number, where it begins with its own address.
    descriptor_to_tid: int | None
    restart: int  # what a call with a time limit goes on as after a stop, with its own arguments
    # The kernel goes on with these after a stop, unseen by the program. Others, such as epoll_wait and what waits at a
    # socket with a time limit, return EINTR.
    restarted: frozenset[int]
    restarted_on_pipes: frozenset[int]
    # Those, and where the word with the result is, the one with the call's number, and the program counter, among the
    # registers that ptrace copies; how long the instruction is. Empty where a stop can't be hidden by calling again.
    broken_off: frozenset[int]
    result: int
    number: int
    counter: int
    instruction: int
    registers: tuple[int, ...]  # DWARF's number of each word that ptrace copies; -1: it has none
    sp: int
    pc: int

    def by_number(self, copied: bytes) -> dict[int, int]:
        """The registers by DWARF's numbers."""
        words = struct.unpack_from(f"={len(self.registers)}Q", copied)
        return {number: word for number, word in zip(self.registers, words, strict=True) if number >= 0}


# In the order of user_regs_struct:
# r15 to r12, rbp, rbx, r11 to r8, rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp.
_X86_REGISTERS = (15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5, -1, 16, -1, -1, 7)

_X86_READS = frozenset({0, 1, 19, 20})  # read, write, readv, writev

_MACHINES = {
    "x86_64": Machine(
        futex=202,
        descriptor_to_tid=720,
        restart=219,
        # poll, select, nanosleep, pause, wait4, fcntl, flock, rt_sigsuspend, futex, clock_nanosleep, waitid, pselect6,
        # ppoll, futex_waitv, restart_syscall
        restarted=frozenset({7, 23, 35, 34, 61, 72, 73, 130, 202, 230, 247, 270, 271, 449, 219}),
        restarted_on_pipes=_X86_READS,
        broken_off=_X86_READS
        # connect, accept, sendto, recvfrom, sendmsg, recvmsg, semop, msgsnd, msgrcv, rt_sigtimedwait, io_getevents
        | {42, 43, 44, 45, 46, 47, 65, 69, 70, 128, 208}
        # semtimedop, epoll_wait, epoll_pwait, accept4, recvmmsg, epoll_pwait2
        | {220, 232, 281, 288, 299, 441},
        result=10,
        number=15,
        counter=16,
        instruction=2,
        registers=_X86_REGISTERS,
        sp=7,
        pc=16,
    ),
    "aarch64": Machine(
        futex=98,
        descriptor_to_tid=None,
        restart=128,
        restarted=frozenset({25, 32, 72, 73, 95, 98, 101, 115, 128, 133, 260, 449}),
        restarted_on_pipes=frozenset({63, 64, 65, 66}),
        broken_off=frozenset(),  # the first argument is overwritten by the result
        result=0,
        number=8,
        counter=32,
        instruction=4,
        registers=tuple(range(33)),  # x0 to x30, sp, pc
        sp=31,
        pc=32,
    ),
}


def here() -> Machine | None:
    """None: nothing is known of this architecture."""
    return _MACHINES.get(platform.machine())
