"""Files that commands write."""

from pathlib import Path

from lockswap.base.errors import UserError


def check_can_be_written(option: str, file: Path) -> None:
    """For a file that is written at the end: what can't work is said before anything is run or measured."""
    folder = file.absolute().parent
    if file.is_dir():
        raise UserError(f"{option} {file}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise UserError(f"{option} {file}: there is no folder '{folder}'; make it first")
