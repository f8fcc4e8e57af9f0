"""What a workload needs before it can run: its program, memory, scratch space."""

import os
import shutil
import subprocess

from lockswap.base.paths import Paths
from lockswap.recipes.recipe import Recipe
from lockswap.records.scrub import scrub
from lockswap.run import machine, setup


def build(paths: Paths, recipe: Recipe) -> str | None:
    """Run a recipe's build script; None, or why the program is not there afterwards."""
    if paths.installed_commit is not None:
        return "cannot be built by an installation; use a checkout, there './run.sh' builds it"
    script = paths.root / "apps" / (recipe.build or "")
    if not script.is_file():
        return f"its build script apps/{recipe.build} is not there"
    env = os.environ | {
        "LOCKSWAP_ROOT": str(paths.root),
        "LOCKSWAP_BUILD": str(paths.build),
        "LOCKSWAP_APPS": str(paths.apps),
    }
    paths.apps.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["bash", script],
        cwd=paths.root / "apps",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return f"cannot be built: {scrub(reason, paths.root)}"
    if not recipe.program_present(paths.apps):
        return f"its build script left no {recipe.missing_program(paths.apps)}"
    return None


def lacks_room(recipe: Recipe) -> str | None:
    if recipe.memory_mb and machine.memory_mb() < recipe.memory_mb:
        return f"needs {recipe.memory_mb} MB of memory, {machine.memory_mb()} MB are available"
    free = shutil.disk_usage(setup.scratch_root() or "/tmp").free >> 20
    if recipe.tmp_mb and free < recipe.tmp_mb:
        return f"needs {recipe.tmp_mb} MB of scratch space on tmpfs, {free} MB are free"
    return None
