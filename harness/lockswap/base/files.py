"""Files that commands write."""

import errno
import os
from pathlib import Path

from lockswap.base.errors import UserError, cannot_write


def check_can_be_written(option: str, file: Path) -> None:
    """For a file that is written at the end: what can't work is said before anything is run or measured."""
    folder = file.absolute().parent
    if file.is_dir():
        raise UserError(f"{option} {file}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise UserError(f"{option} {file}: there is no folder '{folder}'; make it first")
    try:
        _try(file)
    except OSError as error:
        raise UserError(f"{option}: {cannot_write(file, error)}") from error


def _try(file: Path) -> None:
    """Leaves nothing behind. One that exists may be a pipe, so it isn't opened."""
    if not file.exists():
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        file.unlink()
    elif not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
