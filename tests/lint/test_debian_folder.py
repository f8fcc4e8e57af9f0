"""debian/ agrees with what it is made from: versions of Python packages, the functions that libraries export."""

import re
import tomllib
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def named(package: str, field: str) -> str:
    """The packages in that field of a package."""
    paragraphs = (ROOT / "debian/control").read_text().split("\n\n")
    fields = next(found for text in paragraphs if (found := Parser().parsestr(text))["Package"] == package)
    return " ".join(fields[field].split())


def test_the_command_asks_for_the_python_packages_of_its_project_in_the_oldest_versions_that_are_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plots = project["optional-dependencies"]["plots"]
    for wanted, field in [(project["dependencies"], "Depends"), (plots, "Recommends")]:
        for name, version in (re.fullmatch(r"(\w+)>=([\d.]+)", text).groups() for text in wanted):
            pattern = rf"python3-{name.replace('_', '-')} \(>= {re.escape(version)}\)"
            assert re.search(pattern, named("lockswap", field)), name


@pytest.mark.parametrize(
    ("package", "symbols"),
    [
        ("liblockswap1", "interpose/symbols.txt"),
        ("liblockswap-structures1", "structures/src/library/liblockswap_structures.map"),
    ],
)
def test_the_symbols_files_have_each_function_that_programs_are_linked_with(package, symbols):
    said = re.findall(r"^ (lockswap_\w+)@LOCKSWAP_1 ", (ROOT / f"debian/{package}.symbols").read_text(), re.MULTILINE)
    lines = (ROOT / symbols).read_text().splitlines()
    exported = [
        found[1] for line in lines if (found := re.match(r" *(lockswap_\w+)(;$| +LOCKSWAP_1 +(\w+,)*api\b)", line))
    ]
    assert len(said) > 10
    assert sorted(said) == sorted(exported)
