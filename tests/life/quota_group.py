"""A cgroup with a quota, of version 1 or 2, for as long as a test runs.

    with QuotaGroup(50) as group:
        subprocess.run(command, preexec_fn=group.enter)
        with group.inside():  # this process, and what it starts
            subprocess.run(command)

NoGroup is raised, with the reason, where none can be made.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PERIOD_US = 100_000


class NoGroup(Exception):
    pass


def _own_path(is_v1: bool) -> str:
    """The group of this process, as /proc says it."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ("cpu" in controllers.split(",")) if is_v1 else not controllers:
            return path
    return "/"


class QuotaGroup:
    def __init__(self, percent: int | None, root: Path = Path("/sys/fs/cgroup")) -> None:
        name = f"lockswap-{os.getpid()}-{time.monotonic_ns()}"
        tried = []
        for folder, is_v1 in ((root / "cpu", True), (root / "cpu,cpuacct", True), (root, False)):
            # A folder without these is none of a cgroup file system, and a group in it would be a plain folder.
            if not (folder / ("cpu.cfs_quota_us" if is_v1 else "cgroup.subtree_control")).exists():
                continue
            self.folder, self._is_v1 = folder / name, is_v1
            self._home = folder / _own_path(is_v1).lstrip("/")
            try:
                self.folder.mkdir()
            except OSError as error:
                tried.append(f"{folder}: {error.strerror}")
                continue
            try:
                self.set(percent)
                return
            except OSError as error:
                tried.append(f"{folder}: no quota can be set: {error.strerror}")
                self.close()
        raise NoGroup("no cgroup with a quota can be made: " + ("; ".join(tried) or f"{root} has none with cpu"))

    def set(self, percent: int | None) -> None:
        """So many percent of one processor; None: no quota."""
        quota = None if percent is None else percent * PERIOD_US // 100
        if self._is_v1:
            (self.folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (self.folder / "cpu.cfs_quota_us").write_text("-1" if quota is None else str(quota))
        else:
            (self.folder / "cpu.max").write_text(f"{'max' if quota is None else quota} {PERIOD_US}")

    def enter(self) -> None:
        """The calling process goes in: for preexec_fn."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    @contextmanager
    def inside(self) -> Iterator[None]:
        """The calling process is inside for so long."""
        self.enter()
        try:
            yield
        finally:
            # A container may not see its own group by that name: then its top is the one.
            home = self._home if self._home.is_dir() else self.folder.parent
            (home / "cgroup.procs").write_text(str(os.getpid()))

    def throttled(self) -> int:
        """How many periods ended because the quota was used up."""
        for line in (self.folder / "cpu.stat").read_text().splitlines():
            if line.startswith("nr_throttled"):
                return int(line.split()[1])
        return 0

    def close(self) -> None:
        """Its processes must have ended; the kernel takes a moment to see it."""
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(0.02)

    def __enter__(self) -> "QuotaGroup":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
