"""A campaign's folder: written while the campaign runs, read by the report. docs/results.md has the format."""

import csv
import json
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lockswap.base.errors import UserError
from lockswap.records.row import COLUMNS, COUNT_COLUMNS, METRIC, NUMBER_COLUMNS, TEXT_COLUMNS, Row

# 2: the column `twin`. Campaigns of schema 1 had no second run without lockswap.
SCHEMA = 2
READABLE = (1, 2)
# Where a column of raw.csv is called otherwise than the field of Row.
_FIELD = {"twin": "second_run"}


class Folder:
    """A campaign's folder on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def raw(self) -> Path:
        return self.path / "raw.csv"

    def create(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise UserError(f"{self.path} is a file; give a folder to --out")
        if (self.path / "campaign.toml").exists():
            raise UserError(
                f"{self.path} has a campaign already; choose another --name or --out, "
                f"or go on with --resume {self.path}"
            )
        make_folder(self.path)

    def write_campaign(self, campaign: Mapping[str, Any]) -> None:
        import tomli_w

        self._replace("campaign.toml", tomli_w.dumps({"schema": SCHEMA, **campaign}, multiline_strings=False))

    def write_env(self, env: Mapping[str, Any]) -> None:
        self._replace("env.json", json.dumps(env, indent=2) + "\n")

    def write_checks(self, checks: Iterable[Mapping[str, Any]]) -> None:
        self._replace("checks.json", json.dumps({"schema": SCHEMA, "checks": list(checks)}, indent=2) + "\n")

    def write_failure(self, run: str, text: str) -> None:
        folder = self.path / "failures"
        folder.mkdir(exist_ok=True)
        (folder / f"{run}.txt").write_text(text, encoding="utf-8")

    def trace(self, workload: str, threads: int, lock: str, kind: str) -> Path:
        return self.path / "traces" / workload / f"{threads}-{lock}.{kind}.txt"

    def traces(self, workload: str) -> list[str]:
        """The trace files of a workload, relative to the folder."""
        found = (self.path / "traces" / workload).glob("*.txt")
        return sorted(str(file.relative_to(self.path)) for file in found)

    def _replace(self, name: str, text: str) -> None:
        """All or nothing: a reader, or a crash, never sees half a file."""
        part = self.path / f".{name}.part"
        part.write_text(text, encoding="utf-8")
        part.replace(self.path / name)

    def campaign(self) -> dict[str, Any]:
        file = self.path / "campaign.toml"
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UserError(f"{self.path} is no campaign: it has no campaign.toml") from None
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise UserError(f"{file}: {error}") from error
        _check_schema(file, data)
        return data

    def env(self) -> dict[str, Any]:
        return self._json("env.json")

    def checks(self) -> list[dict[str, Any]]:
        return self._json("checks.json").get("checks", [])

    def _json(self, name: str) -> dict[str, Any]:
        file = self.path / name
        if not file.exists():
            return {}
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, json.JSONDecodeError) as error:
            raise UserError(f"{file}: {error}") from error
        _check_schema(file, data)
        return data

    def rows(self) -> list[Row]:
        if not self.raw.exists():
            return []
        with self.raw.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = set(COLUMNS) - set(reader.fieldnames or ()) - {"twin"}
            if missing:
                raise UserError(f"{self.raw}: the columns {', '.join(sorted(missing))} are missing")
            try:
                return [_row(fields) for fields in reader if fields["status"]]
            except (ValueError, TypeError) as error:
                raise UserError(f"{self.raw}, line {reader.line_num}: {error}") from error


def make_folder(path: Path) -> None:
    """Made if it is not there; files can be made in it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}; --out DIR names another one") from error
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise UserError(f"cannot write into {path}: {error.strerror}; --out DIR names another folder") from error


def _check_schema(file: Path, data: Mapping[str, Any]) -> None:
    if data.get("schema") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise UserError(f"{file} has schema {data.get('schema')}; this harness reads schemas {known}")


def _row(fields: Mapping[str, str]) -> Row:
    return Row(
        **{_FIELD.get(key, key): int(fields.get(key, 0)) for key in COUNT_COLUMNS},
        **{key: fields[key] for key in TEXT_COLUMNS},
        numbers={key: float(fields[key]) for key in NUMBER_COLUMNS if fields[key]},
        metrics={
            key.removeprefix(METRIC): float(value) for key, value in fields.items() if key.startswith(METRIC) and value
        },
    )


class RawWriter:
    """Appends to raw.csv, each row at once: what was measured survives an interrupt."""

    def __init__(self, folder: Folder, metrics: Iterable[str]) -> None:
        self.columns = [*COLUMNS, *(METRIC + name for name in metrics)]
        fresh = not folder.raw.exists() or folder.raw.stat().st_size == 0
        self.file = folder.raw.open("a", newline="", encoding="utf-8")
        self.writer = csv.DictWriter(self.file, self.columns, lineterminator="\n")
        if fresh:
            self.writer.writeheader()
            self.file.flush()

    def add(self, row: Row) -> None:
        fields = asdict(row)
        fields |= {column: fields.pop(name) for column, name in _FIELD.items()}
        numbers, metrics = fields.pop("numbers"), fields.pop("metrics")
        fields |= {key: _short(numbers[key]) for key in NUMBER_COLUMNS if key in numbers}
        fields |= {METRIC + key: _short(value) for key, value in metrics.items()}
        self.writer.writerow(fields)
        self.file.flush()

    def close(self) -> None:
        self.file.close()


def _short(value: float) -> str:
    """Whole numbers whole; others with as many digits as any clock deserves."""
    return str(int(value)) if float(value).is_integer() else f"{value:.7g}"
