"""Where the model's program and its files are."""

import subprocess
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths

MODEL = "lockswap-model"


def machines(paths: Paths) -> Path:
    return paths.root / "predict" / "machines"


def workloads(paths: Paths) -> Path:
    return paths.root / "predict" / "workloads.toml"


def statements(paths: Paths) -> Path:
    return paths.root / "predict" / "statements.toml"


def advice(paths: Paths) -> Path:
    return paths.root / "predict" / "advice.csv"


def program(paths: Paths) -> Path:
    """Builds it in a checkout, where nothing but this needs it."""
    found = paths.build / "bin" / MODEL
    if paths.installed_commit is None and (paths.build / "CMakeCache.txt").is_file():
        done = subprocess.run(["cmake", "--build", paths.build, "--target", MODEL], capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{MODEL} can't be built: run 'cmake --build {paths.build} --target {MODEL}' to see why")
    if not found.is_file():
        raise UserError(f"{MODEL} is not installed: predict from a source tree that './run.sh build' has built")
    return found
