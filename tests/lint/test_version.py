"""The version stands in five files, which agree, and packages promise what CHANGELOG.md promises."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()


def only(pattern: str, path: str) -> str:
    found = re.findall(pattern, (ROOT / path).read_text(), re.MULTILINE)
    assert len(found) == 1, path
    return found[0]


def test_each_part_has_the_version_of_the_newest_entry_of_the_changelog():
    newest = re.search(r"^## (\d+\.\d+\.\d+)$", CHANGELOG, re.MULTILINE)[1]
    assert only(r"^project\(lockswap VERSION ([\d.]+) ", "CMakeLists.txt") == newest
    assert only(r'^VERSION = "([\d.]+)"$', "harness/lockswap/base/version.py") == newest
    assert only(r'^version: "([\d.]+)"$', "CITATION.cff") == newest
    assert re.match(r"lockswap \(([\d.]+)\)", (ROOT / "debian/changelog").read_text())[1] == newest


def test_the_wheel_takes_its_version_and_its_packages_from_where_they_stand():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["scikit-build"]["metadata"]["version"]["input"] == "harness/lockswap/base/version.py"
    wanted = {
        "requirements.txt": project["project"]["dependencies"],
        "requirements-plots.txt": project["project"]["optional-dependencies"]["plots"],
    }
    for file, packages in wanted.items():
        pins = (ROOT / "harness" / file).read_text().lower()
        direct = re.match(r"(?:#.*\n)+", pins)[0].partition("direct: ")[2]
        assert {re.split(r"[>=]", package)[0].replace("-", "_") for package in packages} == set(
            re.findall(r"(\w+)(?= \(|\.\n)", direct)
        )


@pytest.mark.parametrize(("package", "library"), [("interpose/api", "api"), ("structures/src", "structures")])
def test_packages_promise_no_more_than_the_changelog(package, library):
    # "Until 1.0 a minor version may break something": find_package(lockswap 0.2) must not take 0.3.
    assert "a minor version may break something" in CHANGELOG
    cmake = f"{package}/CMakeLists.txt"
    assert only(r"^ +COMPATIBILITY (\w+)\)", cmake) == "SameMinorVersion"
    number = only(r"^ +SOVERSION (\d+)$", cmake)
    assert f"`liblockswap_{library}.so.{number}`" in CHANGELOG
