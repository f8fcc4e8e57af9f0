"""A plugin of pytest (-p record_files): adds a line for each file that ended to the file that TEST_RECORD names."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_started: dict[str, tuple[float, float]] = {}
_failed: set[str] = set()
_ran: set[str] = set()


def _cpu() -> float:
    used = os.times()
    server = sys.modules.get("command_server")  # whose children have not been waited for here
    return used.user + used.system + used.children_user + used.children_system + sum(server.used if server else ())


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT).as_posix()


# A worker runs a file's tests one after the other (--dist loadfile), so the time between belongs to the file.
@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None):
    file = _file(item)
    _started.setdefault(file, (_cpu(), time.monotonic()))
    done = yield
    if nextitem is None or _file(nextitem) != file:
        cpu, clock = _started.pop(file)
        result = "failed" if file in _failed else "passed" if file in _ran else "skipped"
        line = f"{result}\tpytest:{file}\t{_cpu() - cpu:.2f}\t{time.monotonic() - clock:.2f}\n"
        with Path(os.environ["TEST_RECORD"]).open("a", encoding="utf-8") as out:
            out.write(line)
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    if report.failed:
        _failed.add(_file(item))
    elif report.passed and report.when == "call":
        _ran.add(_file(item))
    return report
