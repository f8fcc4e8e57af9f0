"""What all runs of a campaign have in common."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths
from lockswap.recipes.recipe import Recipe


@dataclass(frozen=True)
class Setup:
    """What all runs of a campaign have in common."""

    paths: Paths
    events: list[str] | None
    wait: str | None = None
    pin: str | None = None
    numactl: tuple[str, ...] = ()
    timeout: float | None = None
    preload: tuple[str, ...] = ()  # files that are preloaded after our library, for every lock and for none
    preload_first: tuple[str, ...] = ()  # the same before it
    policies: Mapping[str, Path] = field(default_factory=dict)  # the files, by the names in labels

    def with_seconds(self, recipe: Recipe, seconds: int) -> float:
        return self.timeout if self.timeout is not None else recipe.time_limit(seconds)


def scratch_root() -> str | None:
    """tmpfs where there is one: the disk shall not be what is measured."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def check_tools(setup: Setup) -> None:
    """What the command line asked for must be there before the first run, so that it does not fail in each."""
    for wanted, tool, package in ((setup.pin, "taskset", "util-linux"), (setup.numactl, "numactl", "numactl")):
        if wanted and shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed; install it with 'apt-get install {package}'")
    if setup.numactl:
        tried = subprocess.run(["numactl", *setup.numactl, "--", "true"], capture_output=True, text=True)
        if tried.returncode != 0:
            problem = (tried.stderr.strip().splitlines() or ["it fails"])[0]
            raise UserError(f"--numactl '{shlex.join(setup.numactl)}' does not work: {problem}")
