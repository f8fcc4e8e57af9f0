"""Where predictions have their programs and data: what is built for them alone, and the files of predict/."""

import subprocess
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths

MODEL = "lockswap-model"


def model(paths: Paths) -> Path:
    return built(paths, paths.build / "bin" / MODEL, MODEL)


def built(paths: Paths, program: Path, target: str) -> Path:
    """Builds it in a checkout, where hardly anything else needs it."""
    if paths.installed_commit is None and (paths.build / "CMakeCache.txt").is_file():
        done = subprocess.run(["cmake", "--build", paths.build, "--target", target], capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{target} can't be built: run 'cmake --build {paths.build} --target {target}' to see why")
    if not program.is_file():
        raise UserError(f"{target} is not installed: predict from a source tree that './run.sh build' has built")
    return program


def machines_folder(paths: Paths) -> Path:
    return paths.root / "predict" / "machines"


def workloads_file(paths: Paths) -> Path:
    return paths.root / "predict" / "workloads.toml"
