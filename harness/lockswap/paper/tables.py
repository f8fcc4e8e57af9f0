"""A campaign's figures as CSV and, if arro3-io is installed, as Parquet. It is the smallest of the libraries that write
Parquet: 33 MB, where pyarrow, polars and DuckDB have 60 to 160."""

import importlib.util
from pathlib import Path

from lockswap.base.paths import Paths
from lockswap.records.row import COUNT_COLUMNS, MACHINE, TEXT_COLUMNS

NAME = "arro3-io"
# The columns of summary.csv that are text or counts; all others are numbers.
SUMMARY_TEXT = ("workload", "lock", "metric", "role", "unit", "better", "against", "verdict", "verdict_without_busy")
SUMMARY_COUNTS = ("threads", "runs", "ok", "busy")
TEXTS = {*TEXT_COLUMNS, MACHINE, *SUMMARY_TEXT, "failures"}
COUNTS = {*COUNT_COLUMNS, *SUMMARY_COUNTS}


def can_write_parquet() -> bool:
    return importlib.util.find_spec("arro3") is not None and importlib.util.find_spec("arro3.io") is not None


def how_to_get_it(paths: Paths) -> str:
    """The command that installs the library where this installation finds it."""
    if paths.in_wheel:
        return f"pip install 'lockswap[parquet]' (with pipx: pipx inject lockswap {NAME})"
    if paths.installed_commit is None:
        return f"{paths.build}/venv/bin/pip install {NAME}"
    if paths.own_packages.is_dir():
        return f"pip install --target {paths.own_packages} {NAME}"
    return "pipx install 'lockswap[parquet]', since the system has no such package"


def write_parquet(csv: Path, to: Path) -> None:
    from arro3.core import DataType, Field, Schema
    from arro3.io import read_csv, write_parquet

    with csv.open(encoding="utf-8") as text:
        columns = text.readline().rstrip("\n").split(",")
    types = {True: DataType.utf8(), False: DataType.float64()}
    fields = [
        Field(name, DataType.int64() if name in COUNTS else types[name in TEXTS], nullable=True) for name in columns
    ]
    write_parquet(read_csv(csv, Schema(fields), has_header=True), to, compression="zstd(3)")
