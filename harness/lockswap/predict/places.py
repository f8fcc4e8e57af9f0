"""Where the programs and the files of predictions are."""

import subprocess
import sys
from pathlib import Path

from lockswap.base.errors import UserError
from lockswap.base.paths import Paths

MODEL = "lockswap-model"


def machines(paths: Paths) -> Path:
    return paths.root / "predict" / "machines"


def workloads(paths: Paths) -> Path:
    return paths.root / "predict" / "workloads.toml"


def figures(paths: Paths) -> Path:
    return paths.root / "predict" / "figures.toml"


def statements(paths: Paths) -> Path:
    return paths.root / "predict" / "statements_2.toml"


def advice(paths: Paths) -> Path:
    return paths.root / "predict" / "advice.csv"


def program(paths: Paths) -> Path:
    return built(paths, paths.build / "bin" / MODEL, MODEL)


def structures(paths: Paths) -> Path:
    """The model's program that has structures instead of locks."""
    return built(paths, paths.build / "bin" / f"{MODEL}-structures", f"{MODEL}-structures")


def built(paths: Paths, program: Path, target: str) -> Path:
    """Builds it in a checkout, where hardly anything else needs it."""
    if paths.installed_commit is None and (paths.build / "CMakeCache.txt").is_file():
        if not program.is_file():
            print(f"lockswap: building {target}, once", file=sys.stderr)
        done = subprocess.run(["cmake", "--build", paths.build, "--target", target], capture_output=True, text=True)
        if done.returncode != 0:
            raise UserError(f"{target} can't be built: run 'cmake --build {paths.build} --target {target}' to see why")
    if not program.is_file():
        raise UserError(f"{target} is not installed: predict from a source tree that './run.sh build' has built")
    return program
