"""What a user did that cannot work. One line, which says what to do."""

import errno
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
UNWRITABLE = (*_FULL, errno.EROFS, errno.EFBIG, errno.EIO)


def cannot_write(file: Path | str | None, error: OSError) -> str:
    """The line for a file that cannot be written. None: it is not known which one."""
    what = f"cannot write{'' if file is None else f' {file}'}: {error.strerror}; "
    return what + ("make room there, or choose another folder" if error.errno in _FULL else "choose another folder")


class UserError(Exception):
    """Printed as one line on stderr; the command ends with exit status 2."""


class NoCommand(Exception):
    """No command was given; the help that is printed on stderr instead."""


class Stopped(KeyboardInterrupt):
    """A signal that ends the command, as Ctrl-C does: what it started ends first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
