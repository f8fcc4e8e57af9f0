"""Containers without a daemon: podman, with storage and settings of its own, which `docker` stands for on PATH."""

import os
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import roots

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PROGRAMS = ("podman", "runc", "catatonit")
# What every installation has, but no container of ours reads.
LEFT_OUT = ("usr/share/doc", "usr/share/locale", "var/cache/apt", "var/lib/apt/lists")
# The host's network, and limits that are not above this process's own: both work inside another container, too.
SETTINGS = """
[containers]
netns = "host"
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


def why_not() -> str | None:
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    return f"not installed: {', '.join(missing)}" if missing else roots.why_not()


def below(limit: int, most: int) -> int:
    hard = resource.getrlimit(limit)[1]
    return most if hard == resource.RLIM_INFINITY else min(most, hard)


@dataclass(frozen=True)
class Podman:
    folder: Path

    def set_up(self) -> None:
        files, processes = below(resource.RLIMIT_NOFILE, 1024), below(resource.RLIMIT_NPROC, 1000)
        (self.folder / "containers.conf").write_text(SETTINGS.format(files=files, processes=processes))
        (self.folder / "storage.conf").write_text(STORAGE.format(folder=self.folder))
        (self.folder / "bin").mkdir()
        (self.folder / "bin/docker").write_text('#!/bin/sh\nexec podman "$@"\n')
        (self.folder / "bin/docker").chmod(0o755)

    def run(self, script: str) -> str:
        """Run it by bash; what it printed."""
        done = subprocess.run(
            ["bash", "-ec", script],
            cwd=self.folder,
            env=os.environ
            | {
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
                "CONTAINERS_CONF": str(self.folder / "containers.conf"),
                "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf"),
                "BUILDAH_ISOLATION": "chroot",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    def import_image(self, system: roots.System, name: str) -> None:
        left_out = " ".join(f"--exclude=./{folder}" for folder in LEFT_OUT)
        self.run(f"tar -C {system.folder} {left_out} -c . | podman import -q -c 'ENV PATH={PATH}' - {name}")

    def build_image(self, name: str, recipe: str, *files: Path) -> None:
        context = self.folder / "context"
        context.mkdir()
        (context / "Containerfile").write_text(recipe)
        for file in files:
            shutil.copy2(file, context)
        self.run(f"podman build -q -t {name} context")
        shutil.rmtree(context)
