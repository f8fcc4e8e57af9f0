"""What a workload needs before it can run: its program, memory, scratch space."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lockswap.base.paths import Paths
from lockswap.recipes.recipe import Recipe
from lockswap.records.scrub import scrub
from lockswap.run import machine, setup


def can_build(paths: Paths, recipe: Recipe) -> bool:
    """Whether there is a way to get the program that is missing."""
    return recipe.build is not None or _own_benchmark(paths, recipe) is not None


def _own_benchmark(paths: Paths, recipe: Recipe) -> str | None:
    """The target of our build tree that makes the missing program, if it is one of our benchmarks."""
    name = recipe.missing_program(paths.apps)
    commands = [recipe.command, *([recipe.server.command] if recipe.server else [])]
    is_ours = any(command[0] == f"{{apps}}/{name}" for command in commands)
    return name if is_ours and (paths.build / "CMakeCache.txt").is_file() else None


def build(paths: Paths, recipe: Recipe) -> str | None:
    """Build our benchmark, or run the recipe's build script; None, or why the program is not there afterwards."""
    if recipe.build is None:
        return _make(paths, recipe, ["cmake", "--build", paths.build, "--target", _own_benchmark(paths, recipe)])
    if paths.installed_commit is not None:
        return "cannot be built by an installation; use a checkout, there './run.sh' builds it"
    script = paths.root / "apps" / recipe.build
    if not script.is_file():
        return f"its build script apps/{recipe.build} is not there"
    return _make(paths, recipe, ["bash", script])


def _make(paths: Paths, recipe: Recipe, command: Sequence[str | Path]) -> str | None:
    env = os.environ | {
        "LOCKSWAP_ROOT": str(paths.root),
        "LOCKSWAP_BUILD": str(paths.build),
        "LOCKSWAP_APPS": str(paths.apps),
    }
    paths.apps.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        command,
        cwd=paths.root / "apps",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        reason = ((done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return f"cannot be built: {scrub(reason, paths.root)}"
    if not recipe.program_present(paths.apps):
        return f"its build left no {recipe.missing_program(paths.apps)}"
    return None


def lacks_room(recipe: Recipe) -> str | None:
    if recipe.memory_mb and machine.memory_mb() < recipe.memory_mb:
        return f"needs {recipe.memory_mb} MB of memory, {machine.memory_mb()} MB are available"
    free = shutil.disk_usage(setup.scratch_root() or "/tmp").free >> 20
    if recipe.tmp_mb and free < recipe.tmp_mb:
        return f"needs {recipe.tmp_mb} MB of scratch space on tmpfs, {free} MB are free"
    return None
