"""What a check of the doctor finds: one line, which also says what to do."""

import json
from dataclasses import dataclass

SCHEMA = 1  # of the JSON

OK, NOTE, STOPS = "ok", "note", "stops"  # as it should be; worth knowing; stands in the way


@dataclass(frozen=True)
class Finding:
    check: str  # the name of the check, for scripts
    level: str
    text: str

    def __str__(self) -> str:
        return f"{self.level:<6} {self.text}"


def ok(check: str, text: str) -> Finding:
    return Finding(check, OK, text)


def note(check: str, text: str) -> Finding:
    return Finding(check, NOTE, text)


def stops(check: str, text: str) -> Finding:
    return Finding(check, STOPS, text)


def show(found: list[Finding], as_json: bool) -> int:
    """Prints them, and returns the exit status."""
    status = 1 if any(one.level == STOPS for one in found) else 0
    if as_json:
        data = {
            "schema": SCHEMA,
            "ok": status == 0,
            "findings": [{"check": one.check, "level": one.level, "text": one.text} for one in found],
        }
        print(json.dumps(data, indent=1))
    else:
        for one in found:
            print(one)
    return status
