"""Options that are times: `5m`, `300s`, `250ms`. A bare number is in the unit that the option has had before."""

import re
from typing import Any

import click

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|m|h|)")


class Duration(click.ParamType):
    """Becomes a number of `unit`; `least` and `most` are texts of the same form."""

    name = "time"

    def __init__(self, unit: str, least: str = "", most: str = "") -> None:
        self.unit, self.least, self.most = unit, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if not isinstance(value, str):  # a default that was converted already
            return value
        seconds = self._seconds(value)
        if seconds is None:
            self.fail(f"'{value}' is not a time; write it like 30s or 5m", param, ctx)
        if seconds <= 0 or (self.least and seconds < self._limit(self.least)):
            least = f"at least {self.least}" if self.least else "more than 0s"
            self.fail(f"'{value}' is too short: it must be {least}", param, ctx)
        if self.most and seconds > self._limit(self.most):
            self.fail(f"'{value}' is too long: it must be at most {self.most}", param, ctx)
        return seconds / _SECONDS[self.unit]

    def _seconds(self, text: str) -> float | None:
        found = _TIME.fullmatch(text.strip())
        return float(found[1]) * _SECONDS[found[2] or self.unit] if found else None

    def _limit(self, text: str) -> float:
        seconds = self._seconds(text)
        assert seconds is not None
        return seconds
