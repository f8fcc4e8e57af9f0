"""What a user did that cannot work. One line, which says what to do."""

import errno
import os
import pwd
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
# How people find process ids.
FIND = "`pgrep -a NAME` lists a program's processes"
UNWRITABLE = (*_FULL, errno.EROFS, errno.EFBIG, errno.EIO)


def cannot_write(file: Path | str | None, error: OSError) -> str:
    """The line for a file that cannot be written. None: it is not known which one."""
    what = f"cannot write{'' if file is None else f' {file}'}: {error.strerror}; "
    return what + ("make room there, or choose another folder" if error.errno in _FULL else "choose another folder")


def in_a_line(error: OSError) -> str | None:
    """What the machine does not allow, where no command has a better word for it. None: it may be a fault of ours."""
    if error.errno in UNWRITABLE:
        return cannot_write(error.filename, error)
    if error.errno in (errno.EACCES, errno.EPERM) and error.filename:
        return f"{error.filename}: {error.strerror}; change its permissions, or name another file"
    if error.errno == errno.ENOENT and error.filename is None and _folder_is_gone():
        return "the current folder doesn't exist any more; change to another one"
    return None


def _folder_is_gone() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


class UserError(Exception):
    """Printed as one line on stderr; the command ends with exit status 2."""


class NoCommand(Exception):
    """No command was given; the help that is printed on stderr instead."""


class NobodyReads(Exception):
    """The reader of the command's output has gone, as `head` does. (For a BrokenPipeError, click exits with 1.)"""


class Stopped(KeyboardInterrupt):
    """A signal that ends the command, as Ctrl-C does: what it started ends first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def no_process(pid: int) -> UserError:
    return UserError(f"there is no process {pid}; {FIND}")


def may_not_be_inspected(pid: int) -> UserError:
    """Says whose it is, and what would help this user."""
    cure = "ask as that user or as root"
    if os.geteuid() == 0:
        cure = "root lacks the right here; in a container, ask from outside, or grant CAP_SYS_PTRACE"
    return UserError(f"process {pid} belongs to {_owner(pid)} and may not be inspected; {cure}")


def _owner(pid: int) -> str:
    """By its status, as the folder of a process that may not be traced is root's."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return "nobody any more"
    uid = next((int(line.split()[1]) for line in lines if line.startswith("Uid:")), 0)
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
