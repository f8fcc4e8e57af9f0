"""What predictions were worth on a machine: the file of `predict --validate`, and its score."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from lockswap.base.errors import UserError
from lockswap.predict import bands
from lockswap.predict.bands import Band
from lockswap.predict.claims import Coverage
from lockswap.predict.measured import Measured, Place

SCHEMA = 1
WHAT = "lockswap predict --validate"
# Two locks that differ by less have no order that a prediction could get right.
_APART = 1.25


@dataclass(frozen=True)
class Score:
    points: int
    inside: int  # of the points, in their bands
    error: float  # median, as a share of what was measured
    ordered: int  # pairs of locks whose measured rates are apart, and of those the ones in the predicted order
    right: int
    covered: Coverage  # of all pairs, those whose order was claimed
    width: float  # the median ratio of a band's top to its bottom

    @classmethod
    def of(cls, rows: "Sequence[Row]", covered: Coverage | None = None) -> "Score":
        """Files of older versions don't say what was claimed, which was more than the pairs of bands that are apart."""
        apart = [(a, b) for a, b in combinations(rows, 2) if a.is_beside(b) and a.is_apart(b)]
        return cls(
            len(rows),
            sum(row.is_inside for row in rows),
            median(row.error for row in rows) if rows else 0.0,
            len(apart),
            sum(a.is_in_order_with(b) for a, b in apart),
            covered or _of_bands(rows),
            bands.width(row.predicted for row in rows) if rows else 1.0,
        )


@dataclass(frozen=True)
class Row:
    place: Place
    predicted: Band
    measured: Measured

    @property
    def is_inside(self) -> bool:
        return self.predicted.low <= self.measured.middle <= self.predicted.high

    @property
    def error(self) -> float:
        return abs(self.predicted.middle / self.measured.middle - 1)

    def is_beside(self, other: "Row") -> bool:
        mine, its = self.place, other.place
        return (mine.kind, mine.writes, mine.threads) == (its.kind, its.writes, its.threads)

    def is_in_order_with(self, other: "Row") -> bool:
        predicted = self.predicted.middle - other.predicted.middle
        return predicted * (self.measured.middle - other.measured.middle) > 0

    def is_apart(self, other: "Row") -> bool:
        low, high = sorted((self.measured.middle, other.measured.middle))
        return high > low * _APART


@dataclass(frozen=True)
class Validation:
    """One file. `about` is the rest of it: when, with which settings and versions, and the machine."""

    about: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def title(self) -> str:
        return self.about["machine"]["title"]

    @property
    def score(self) -> Score:
        return Score.of(self.rows, Coverage(**self.about["claims"]) if "claims" in self.about else None)


def _of_bands(rows: Sequence[Row]) -> Coverage:
    beside = [(a.predicted, b.predicted) for a, b in combinations(rows, 2) if a.is_beside(b)]
    return Coverage(sum(a.low > b.high or b.low > a.high for a, b in beside), len(beside))


def as_json(about: Mapping[str, Any], predicted: Mapping[Place, Band], measured: Mapping[Place, Measured]) -> str:
    """`measured` is empty until it's measured."""
    points = [
        {**asdict(place), "predicted": _short(asdict(band)), "measured": _short(asdict(measured[place]))}
        if place in measured
        else {**asdict(place), "predicted": _short(asdict(band))}
        for place, band in predicted.items()
    ]
    lines = ",\n  ".join(json.dumps(point) for point in points)
    head = json.dumps({"schema": SCHEMA, "what": WHAT, **about}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "points": [\n  {lines}\n ]\n}}\n'


def _short(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{value:.5g}") for name, value in numbers.items()}


def read(file: Path) -> Validation:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data.get("what") != WHAT or data.get("schema") != SCHEMA:
            raise UserError(f"{file} was not written by this version's 'lockswap predict --validate': validate again")
        points = data.pop("points")
        if missing := [point for point in points if "measured" not in point]:
            raise UserError(f"{file} is unfinished: {len(missing)} predictions were not measured; validate again")
        rows = tuple(_row(point) for point in points)
        data["machine"]["title"]
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from error
    except KeyError as error:
        raise UserError(f"{file} is damaged: the key {error} is missing; validate again") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{file} is damaged: {error}; validate again") from error
    return Validation(data, rows)


def _row(point: Mapping[str, Any]) -> Row:
    place = Place(point["lock"], point["kind"], point["writes"], point["threads"])
    return Row(place, Band(**point["predicted"]), Measured(**point["measured"]))


def worst(rows: Iterable[Row], count: int) -> list[Row]:
    """Those that missed their bands by most."""
    return sorted((row for row in rows if not row.is_inside), key=lambda row: -row.error)[:count]
