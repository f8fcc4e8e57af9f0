"""Small systems of Debian's releases, in which packages are built and tried: a folder and chroot, as root.

They and what apt downloads for them are kept in build/roots; what is done in one is done in a copy.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOTS = (ROOT / "build").resolve() / "roots"
# What differs between two systems that have the same packages.
VOLATILE = ("var/cache", "var/lib/apt", "var/lib/dpkg", "var/log", "tmp", "root/.cache", "proc", "dev", "sys", "run")

# The parent's mounts stay as they are, and all that runs in there ends with it. /dev has mounts of its own: terminals.
_ENTER = """
mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && mount -t sysfs sysfs "$0/sys" &&
mount --bind "$1" "$0/var/cache/apt/archives" && exec chroot "$0" /bin/sh -ec "$2"
"""
ENVIRONMENT = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
}


def why_not() -> str | None:
    """Why there can be none here."""
    if os.geteuid() != 0:
        return "only root can make a system of Debian"
    if not shutil.which("debootstrap"):
        return "debootstrap is not installed"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        return "mounts are not allowed here"
    return None


@dataclass(frozen=True)
class System:
    folder: Path
    suite: str

    def run(self, script: str, status: int = 0, **variables: str) -> str:
        """Run it by /bin/sh -e; what it printed."""
        archives = ROOTS / f"{self.suite}.archives"
        (archives / "partial").mkdir(parents=True, exist_ok=True)
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", _ENTER]
        done = subprocess.run(
            [*command, self.folder, archives, script],
            env=ENVIRONMENT | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def files(self) -> set[str]:
        """All that is there, but for what differs anyway."""
        found = set()
        for folder, folders, files in os.walk(self.folder):
            here = Path(folder).relative_to(self.folder)
            folders[:] = [name for name in folders if str(here / name) not in VOLATILE]
            found |= {str(here / name) for name in (*folders, *files)}
        return found


def archive() -> str:
    """Where this system gets Debian's packages from."""
    script = ". scripts/other_debian.sh && archive_uri"
    return subprocess.check_output(["bash", "-c", script], cwd=ROOT, text=True).strip()


def make(suite: str) -> System:
    """The smallest system of that release, kept from one run to the next; its lists of packages are today's."""
    system = System(ROOTS / suite, suite)
    made = ROOTS / f"{suite}.made"
    if not made.exists():
        shutil.rmtree(system.folder, ignore_errors=True)
        ROOTS.mkdir(parents=True, exist_ok=True)
        words = ["debootstrap", "--variant=minbase", suite, str(system.folder), archive()]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        made.touch()
    system.run("apt-get -q update")
    return system


@contextmanager
def copy_of(system: System) -> Iterator[System]:
    with tempfile.TemporaryDirectory(prefix=f"{system.suite}-", dir=ROOTS) as name:
        folder = Path(name) / "root"
        subprocess.run(["cp", "-a", "--reflink=auto", system.folder, folder], check=True)
        yield System(folder, system.suite)
