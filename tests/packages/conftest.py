"""Markers of these tests."""


def pytest_configure(config) -> None:
    config.addinivalue_line("markers", "full: takes minutes; only in './run.sh test --full'")
