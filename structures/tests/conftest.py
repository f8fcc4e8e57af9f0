"""The tests here use what those of the locks have."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "tests"
sys.path[1:1] = [str(TESTS / "explore"), str(TESTS / "harness"), str(TESTS / "pages")]


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "full: takes minutes; only in './run.sh test --full'")
