"""What a workload needs before it can run: its program, memory, scratch space."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from lockswap.base.paths import Paths
from lockswap.base.text import words
from lockswap.recipes.recipe import Recipe
from lockswap.records.scrub import scrub
from lockswap.run import machine, setup

_ONLY_IN_CHECKOUT = "cannot be built by an installation; use a checkout, there './run.sh' builds it"


# Installs packages with apt-get, as far as that is allowed; only a checkout has it.
_INSTALLER = Path("scripts/need_workloads.sh")


def build(paths: Paths, recipe: Recipe, says: Callable[[str], None]) -> str | None:
    """Make a recipe's program: by its script, or by CMake if it's ours; what they need is installed if it is missing.

    None, or why there is no program afterwards. `says` is told what was done.
    """
    program = recipe.missing_program(paths.apps)
    problem = _built(paths, recipe, program)
    if problem and (installed := _install(paths)):
        says(f"installed {words(installed)}, for {program} and other programs of workloads")
        problem = None if recipe.program_present(paths.apps) else _built(paths, recipe, program)
    if not problem and recipe.is_ours(program):
        says(f"built {program}")
    return problem


def _built(paths: Paths, recipe: Recipe, program: str) -> str | None:
    in_checkout = paths.installed_commit is None
    if recipe.build is None:
        if recipe.is_ours(program) and in_checkout and (paths.build / "CMakeCache.txt").is_file():
            return _by_cmake(paths, recipe, program)
        cure = ": './run.sh' installs what workloads need" if in_checkout else ""
        return f"'{program}' is not installed{cure}"
    return _by_script(paths, recipe) if in_checkout else _ONLY_IN_CHECKOUT


def _install(paths: Paths) -> list[str]:
    """The packages that were missing and are there now."""
    if paths.installed_commit is not None or not (paths.root / _INSTALLER).is_file():
        return []
    done = subprocess.run(["bash", paths.root / _INSTALLER], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def _by_cmake(paths: Paths, recipe: Recipe, program: str) -> str | None:
    """Build one target. If there is none by this name, what it needs may have been installed since: configure again."""
    make = ["cmake", "--build", paths.build, "--target", program, "--parallel", str(os.cpu_count())]
    said = ""
    for command in (make, ["cmake", paths.build], make):
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            return f"'{program}' cannot be built: {error}"
        said += done.stdout
        if done.returncode == 0 and recipe.program_present(paths.apps):
            return None
    # CMake says of a program that it leaves out why it does so.
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    left_out = [line.removeprefix("-- ") for line in lines if line.startswith("-- ") and program in line]
    return f"'{program}' cannot be built: {scrub((left_out or lines or ['no output'])[-1], paths.root)}"


def _by_script(paths: Paths, recipe: Recipe) -> str | None:
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
