"""A campaign's folder: written while the campaign runs, read by the report. docs/results.md has the format."""

import csv
import io
import json
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lockswap.base.errors import UserError, cannot_write
from lockswap.base.text import as_word
from lockswap.records import durable
from lockswap.records.row import COLUMNS, COUNT_COLUMNS, MACHINE, METRIC, NUMBER_COLUMNS, TEXT_COLUMNS, Row

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
                f"or go on with --resume {as_word(self.path)}"
            )
        make_folder(self.path)

    def remove_unbegun(self) -> None:
        """The folder of a campaign that has no run and never will."""
        with suppress(OSError):  # there are files of others
            (self.path / "campaign.toml").unlink(missing_ok=True)
            self.path.rmdir()

    def write_campaign(self, campaign: Mapping[str, Any]) -> None:
        import tomli_w

        self._replace("campaign.toml", tomli_w.dumps({"schema": SCHEMA, **campaign}, multiline_strings=False))

    def write_env(self, env: Mapping[str, Any]) -> None:
        self._replace("env.json", json.dumps(env, indent=2) + "\n")

    def write_checks(self, checks: Iterable[Mapping[str, Any]]) -> None:
        self._replace("checks.json", json.dumps({"schema": SCHEMA, "checks": list(checks)}, indent=2) + "\n")

    def write_rows(self, metrics: Iterable[str], rows: Iterable[Row]) -> None:
        """All of raw.csv, with the column of machines."""
        columns = columns_of(metrics, has_machines=True)
        lines = [
            _line(columns, dict(zip(columns, columns, strict=True))),
            *(_line(columns, _fields(row)) for row in rows),
        ]
        self._replace(self.raw.name, "".join(lines))

    def write_failure(self, run: str, text: str) -> None:
        self._make_and_replace(self.path / "failures" / f"{run}.txt", text)

    def write_trace(self, file: Path, text: str) -> None:
        self._make_and_replace(file, text)

    def trace(self, workload: str, threads: int, lock: str, kind: str) -> Path:
        return self.path / "traces" / workload / f"{threads}-{lock}.{kind}.txt"

    def traces(self, workload: str) -> list[str]:
        """The trace files of a workload, relative to the folder."""
        found = (self.path / "traces" / workload).glob("*.txt")
        return sorted(str(file.relative_to(self.path)) for file in found)

    def _replace(self, name: str, text: str) -> None:
        with _said(self.path / name):
            durable.replace(self.path / name, text)

    def _make_and_replace(self, file: Path, text: str) -> None:
        with _said(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            durable.replace(file, text)

    def campaign(self) -> dict[str, Any]:
        file = self.path / "campaign.toml"
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            if any(self.path.glob("*.lockprof")):
                how = f"'lockswap report {as_word(self.path)}' shows it"
                raise UserError(f"{self.path} has a profile and no campaign; {how}") from None
            raise UserError(f"{self.path} is neither a campaign nor a profile: it has no campaign.toml") from None
        except NotADirectoryError:
            raise UserError(f"{self.path} is a file; give the folder of a campaign or profile") from None
        except (OSError, ValueError) as error:  # the second: of its text or its TOML
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
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: {error}") from error
        _check_schema(file, data)
        return data

    def columns(self) -> list[str] | None:
        """None: there is no line yet."""
        text = self._raw_text()
        return next(csv.reader(io.StringIO(text, newline=""))) if text else None

    def rows(self) -> list[Row]:
        """The rows of all completed runs. Ignores an incomplete last one, which a killed harness may leave."""
        text = self._raw_text()
        if not text:
            return []
        reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", restval=None)
        try:
            missing = set(COLUMNS) - set(reader.fieldnames or ()) - {"twin"}
            if missing:
                raise UserError(f"{self.raw}: the columns {', '.join(sorted(missing))} are missing")
            return [_row(fields) for fields in reader]
        except (csv.Error, ValueError) as error:
            raise UserError(f"{self.raw}, line {reader.line_num}: {error}") from error

    def _raw_text(self) -> str:
        try:
            return durable.whole(self.raw.read_bytes()).decode()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{self.raw}: {error}") from error


@contextmanager
def _said(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(cannot_write(file, error)) from error


def make_folder(path: Path, option: str = "--out") -> None:
    """Made if it is not there; files can be made in it. `option` names it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}; choose another with {option} DIR") from error
    try:
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise UserError(
            f"cannot write into {path}: {error.strerror}; choose another folder with {option} DIR"
        ) from error


def _check_schema(file: Path, data: Mapping[str, Any]) -> None:
    if not isinstance(data, Mapping):
        raise UserError(f"{file} is damaged: it has no keys")
    if "schema" not in data:
        raise UserError(f"{file} is damaged: it has no schema; restore it, or measure again")
    if data.get("schema") not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise UserError(f"{file} has schema {data.get('schema')}; this lockswap reads schemas {known}")


def _row(fields: Mapping[str, Any]) -> Row:
    if "" in fields or None in fields.values():
        raise ValueError("it has more fields or fewer than there are columns")
    return Row(
        **{_FIELD.get(key, key): int(fields.get(key, 0)) for key in COUNT_COLUMNS},
        **{key: fields[key] for key in TEXT_COLUMNS},
        machine=fields.get(MACHINE, ""),
        numbers={key: float(fields[key]) for key in NUMBER_COLUMNS if fields[key]},
        metrics={
            key.removeprefix(METRIC): float(value) for key, value in fields.items() if key.startswith(METRIC) and value
        },
    )


class RawWriter:
    """Appends to raw.csv. Each row is on the disk when `add` returns, so it survives the end of the harness."""

    def __init__(self, folder: Folder, metrics: Iterable[str]) -> None:
        self.columns = columns_of(metrics)
        self.file = folder.raw
        if folder.columns() not in (None, self.columns):
            raise UserError(f"{self.file} has other columns than this version writes: choose another --out or --name")
        with _said(self.file):
            self.lines = durable.Lines(self.file)
        if self.lines.is_empty:
            self._write(dict(zip(self.columns, self.columns, strict=True)))

    def add(self, row: Row) -> None:
        self._write(_fields(row))

    def _write(self, fields: Mapping[str, Any]) -> None:
        with _said(self.file):
            self.lines.add(_line(self.columns, fields))

    def close(self) -> None:
        self.lines.close()


def columns_of(metrics: Iterable[str], has_machines: bool = False) -> list[str]:
    return [*COLUMNS, *([MACHINE] if has_machines else []), *(METRIC + name for name in metrics)]


def _fields(row: Row) -> dict[str, Any]:
    fields = asdict(row)
    fields |= {column: fields.pop(name) for column, name in _FIELD.items()}
    numbers, metrics = fields.pop("numbers"), fields.pop("metrics")
    fields |= {key: _short(numbers[key]) for key in NUMBER_COLUMNS if key in numbers}
    return fields | {METRIC + key: _short(value) for key, value in metrics.items()}


def _line(columns: list[str], fields: Mapping[str, Any]) -> str:
    """A row has a machine for a column only if there are several."""
    line = io.StringIO()
    known = {key: value for key, value in fields.items() if key != MACHINE or key in columns}
    csv.DictWriter(line, columns, lineterminator="\n").writerow(known)
    return line.getvalue()


def _short(value: float) -> str:
    """Whole numbers whole; others with as many digits as any clock deserves."""
    return str(int(value)) if float(value).is_integer() else f"{value:.7g}"
