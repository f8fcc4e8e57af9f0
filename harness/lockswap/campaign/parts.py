"""The parts of a campaign on several machines, and how one campaign is made of them.

A part is one workload on one machine: a whole campaign of its own, below `parts/`. It comes into its place at once, so
there is all of it or nothing, and a workload that is measured again is never there twice. All other files of the
campaign follow from its parts.
"""

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lockswap.base.errors import UserError, cannot_write
from lockswap.cluster.orders import checked_name
from lockswap.records import durable
from lockswap.records.folder import Folder
from lockswap.records.row import Row

_FOLDER = "parts"
_RUN = re.compile(r"\d+")  # a file in failures/ that belongs to a run


@dataclass(frozen=True)
class Part:
    workload: str
    machine: str
    folder: Folder

    def name_of(self, workload: str) -> str:
        """What the workload is called in the campaign that has all machines."""
        return f"{workload}@{self.machine}"


class Parts:
    """Those that a campaign's folder has."""

    def __init__(self, folder: Folder) -> None:
        self.path = folder.path / _FOLDER

    def all(self) -> list[Part]:
        """By workload and machine."""
        names = sorted(one.name for one in self.path.glob("*@*") if not one.name.startswith("."))
        return [Part(*name.rsplit("@", 1), Folder(self.path / name)) for name in names]

    def keep(self, workload: str, machine: str, files: Mapping[str, bytes]) -> None:
        place = self.path / f"{workload}@{machine}"
        arriving = self.path / f".{place.name}"
        try:
            shutil.rmtree(arriving, ignore_errors=True)  # of a harness that was killed
            arriving.mkdir(parents=True)
            for name, content in files.items():
                _write(arriving / checked_name(name), content)
            for folder in {arriving, *(file.parent for file in arriving.rglob("*"))}:
                durable.sync_folder(folder)
            arriving.rename(place)
            durable.sync_folder(self.path)
        except OSError as error:
            with suppress(OSError):
                shutil.rmtree(arriving, ignore_errors=True)
            raise UserError(cannot_write(place, error)) from error


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def merge(folder: Folder, about: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """Write the campaign that has them all. `about` is what campaign.toml says besides its workloads and locks."""
    workloads: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    rows: list[Row] = []
    for part in parts:
        of_part = part.folder.campaign()
        workloads += [_on_machine(info, part) for info in of_part["workload"]]
        checks += [check | {"workload": part.name_of(check["workload"])} for check in part.folder.checks()]
        moved = {row.run: len(rows) + number for number, row in enumerate(part.folder.rows(), 1)}
        rows += [
            replace(row, run=moved[row.run], workload=part.name_of(row.workload), machine=part.machine)
            for row in part.folder.rows()
        ]
        _copy_outputs(folder, part, moved, [info["name"] for info in of_part["workload"]])
    locks = dict.fromkeys(lock for info in workloads for lock in info["locks"])
    metrics = dict.fromkeys(metric["name"] for info in workloads for metric in info["metric"])
    folder.write_rows(metrics, rows)
    folder.write_checks(checks)
    folder.write_env(_environment(parts))
    machines = sorted({part.machine for part in parts})
    folder.write_campaign({**about, "machines": machines, "locks": list(locks), "workload": workloads})


def _on_machine(info: Mapping[str, Any], part: Part) -> dict[str, Any]:
    return {
        **info,
        "name": part.name_of(info["name"]),
        "title": f"{info['title']}, on {part.machine}",
        "machine": part.machine,
    }


def _copy_outputs(folder: Folder, part: Part, moved: Mapping[int, int], names: Iterable[str]) -> None:
    """What failed runs printed, and traces. A run has another number in the whole campaign."""
    for file in sorted((part.folder.path / "failures").glob("*.txt")):
        name = f"{moved.get(int(file.stem), 0):05d}" if _RUN.fullmatch(file.stem) else f"{file.stem}@{part.machine}"
        folder.write_failure(name, file.read_text(encoding="utf-8"))
    for name in names:
        for trace in part.folder.traces(name):
            to = folder.path / "traces" / part.name_of(name) / Path(trace).name
            folder.write_trace(to, (part.folder.path / trace).read_text(encoding="utf-8"))


def _environment(parts: Iterable[Part]) -> dict[str, Any]:
    """What the machines have in common; where they differ, all of it in words, and of numbers the least."""
    machines = {part.machine: part.folder.env() for part in parts}
    return {**_common(machines), "machines": machines}


def _common(found: Mapping[str, Any]) -> Any:
    values = list(found.values())
    if all(value == values[0] for value in values):
        return values[0]
    if all(isinstance(value, dict) for value in values):
        keys = dict.fromkeys(key for value in values for key in value)
        return {key: _common({name: value.get(key) for name, value in found.items()}) for key in keys}
    if all(isinstance(value, int | float) for value in values):
        return min(values)
    return "; ".join(f"{name}: {value}" for name, value in found.items())
