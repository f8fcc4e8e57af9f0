"""The folder of /proc that shows a process's memory and files.

The kernel shows them through a thread. Once the first thread of a process has ended by pthread_exit, the folder of the
process shows a zombie with an empty memory map, while the other threads go on.
"""

from pathlib import Path

ENDED = ("Z", "X")  # the states of a thread, or of all of a process


def folder_of(pid: int) -> Path:
    """The process's own folder, or that of a thread which still runs, if the first one has ended."""
    folder = Path(f"/proc/{pid}")
    if not _is_over(folder):
        return folder
    return next((one for one in folder.glob("task/*") if not _is_over(one)), folder)


def has_ended(pid: int) -> bool:
    """Whether all of its threads have."""
    return _is_over(folder_of(pid))


def _is_over(folder: Path) -> bool:
    try:
        return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ENDED
    except OSError:
        return True
