"""In which system call a thread sleeps, in words."""

import platform

from lockswap.base.process import folder_of
from lockswap.outside.target import Call

# Those in which threads sleep. With "fd": the first argument is a file descriptor.
_X86_64 = """
0 read fd, 1 write fd, 7 poll, 16 ioctl fd, 17 pread64 fd, 18 pwrite64 fd, 19 readv fd, 20 writev fd, 23 select,
26 msync, 34 pause, 35 nanosleep, 40 sendfile fd, 42 connect fd, 43 accept fd, 44 sendto fd, 45 recvfrom fd,
46 sendmsg fd, 47 recvmsg fd, 56 clone, 57 fork, 58 vfork, 61 wait4, 65 semop, 69 msgsnd, 70 msgrcv, 72 fcntl fd,
73 flock fd, 74 fsync fd, 75 fdatasync fd, 128 rt_sigtimedwait, 130 rt_sigsuspend, 162 sync, 202 futex,
208 io_getevents, 219 restart_syscall, 220 semtimedop, 230 clock_nanosleep, 232 epoll_wait fd, 247 waitid, 257 openat,
270 pselect6, 271 ppoll, 275 splice fd, 281 epoll_pwait fd, 288 accept4 fd, 299 recvmmsg fd, 307 sendmmsg fd,
426 io_uring_enter fd, 435 clone3, 441 epoll_pwait2 fd, 449 futex_waitv
"""
_AARCH64 = """
4 io_getevents, 22 epoll_pwait fd, 25 fcntl fd, 29 ioctl fd, 32 flock fd, 56 openat, 63 read fd, 64 write fd,
65 readv fd, 66 writev fd, 67 pread64 fd, 68 pwrite64 fd, 71 sendfile fd, 72 pselect6, 73 ppoll, 76 splice fd, 81 sync,
82 fsync fd, 83 fdatasync fd, 95 waitid, 98 futex, 101 nanosleep, 115 clock_nanosleep, 128 restart_syscall,
133 rt_sigsuspend, 137 rt_sigtimedwait, 188 msgrcv, 189 msgsnd, 192 semtimedop, 193 semop, 202 accept fd,
203 connect fd, 206 sendto fd, 207 recvfrom fd, 211 sendmsg fd, 212 recvmsg fd, 220 clone, 227 msync, 242 accept4 fd,
243 recvmmsg fd, 260 wait4, 269 sendmmsg fd, 426 io_uring_enter fd, 435 clone3, 441 epoll_pwait2 fd, 449 futex_waitv
"""
_TABLES = {"x86_64": _X86_64, "aarch64": _AARCH64}
_NAMES = {
    int(number): (name, bool(rest))
    for number, name, *rest in (entry.split() for entry in _TABLES.get(platform.machine(), "").split(",") if entry)
}


_SLEEPS = ("nanosleep", "clock_nanosleep")
_OF_LOCKS = ("futex", "futex_waitv", *_SLEEPS, "restart_syscall")
# Which argument is the time limit, without which it is 0 ...
_LIMITS = {"futex": 3, "pselect6": 4, "select": 4, "ppoll": 2, "rt_sigtimedwait": 2}
_MILLISECONDS = {"poll": 2, "epoll_wait": 3, "epoll_pwait": 3}  # ... or -1


def name_of(call: Call) -> str:
    """Empty if it is not one of those above."""
    return _NAMES.get(call.number, ("", False))[0]


def may_be_a_lock_s(call: Call) -> bool:
    """Whether a thread that waits for a lock may sleep in that call; else a signal handler does."""
    return name_of(call) in ("", *_OF_LOCKS)


def ends_itself(call: Call) -> bool:
    """Whether a thread sleeps in this call until some time at most."""
    name = name_of(call)
    if name in _MILLISECONDS:
        return call.arguments[_MILLISECONDS[name]] & 0xFFFFFFFF != 0xFFFFFFFF
    return name in _SLEEPS or (name in _LIMITS and call.arguments[_LIMITS[name]] != 0)


def in_words(pid: int, call: Call) -> str:
    """As in "read of fd 5 (pipe:[4711])"."""
    name, has_descriptor = _NAMES.get(call.number, (f"system call {call.number}", False))
    if not has_descriptor:
        return name
    descriptor = call.arguments[0] & 0xFFFFFFFF
    try:
        return f"{name} of fd {descriptor} ({(folder_of(pid) / f'fd/{descriptor}').readlink()})"
    except OSError:
        return f"{name} of fd {descriptor}"
