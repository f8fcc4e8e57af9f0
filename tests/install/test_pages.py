"""The pages' tables of locks, variables, statistics and headers have what there is, and nothing else."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = (ROOT / "docs/locks.md").read_text()
MEASURING = (ROOT / "docs/measuring.md").read_text()


@pytest.fixture(scope="module")
def registry() -> dict:
    return json.loads(subprocess.check_output([ROOT / "build/bin/lockswap-registry"], text=True))


def section(text: str, heading: str) -> str:
    return text.partition(f"\n{heading}\n")[2].partition("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the section's first table."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert table
    for line in table[0].splitlines()[2:]:
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", re.sub(r"\([^)]*\)", "", cell))


def patterns(cells: list[list[str]]) -> list[str]:
    """The names of the table's locks; `bravo-L` is a pattern for all that begin so."""
    return [name.removesuffix("L") + "*" if name.endswith("-L") else name for row in cells for name in names(row[0])]


def test_the_tested_versions_of_python_packages_are_from_the_oldest_asked_for_to_the_pinned() -> None:
    page = (ROOT / "docs/installing.md").read_text()
    (said,) = re.findall(r"^The command is tested with (.*)\.$", page, re.MULTILINE)
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "harness/requirements.txt").read_text().lower(), re.MULTILINE))
    oldest = [item.split(">=") for item in asked]
    assert re.split(r", | and ", said) == [f"{name} {version} to {pins[name]}" for name, version in oldest]


@pytest.mark.parametrize(("heading", "kind"), [("## Reader-writer locks", "rwlocks"), ("## Mutexes", "mutexes")])
def test_the_tables_of_locks_have_each_lock(registry: dict, heading: str, kind: str) -> None:
    there = [lock["name"] for lock in registry[kind]]
    said = patterns(list(rows(section(LOCKS, heading))))
    assert [name for name in there if not any(fnmatchcase(name, pattern) for pattern in said)] == []
    assert [pattern for pattern in said if not any(fnmatchcase(name, pattern) for name in there)] == []


@pytest.mark.parametrize(("prefix", "words"), [("bravo-", ""), ("bravo-asym-", r" or, for `bravo-` only,.*")])
def test_the_sentence_on_bravo_has_each_lock_below_it(registry: dict, prefix: str, words: str) -> None:
    """Of `or, for bravo- only, ...` the second form has nothing."""
    said = re.search(r"^In `bravo-L` and `bravo-asym-L`, `L` is (.*)$", LOCKS, re.MULTILINE)
    assert said
    there = {lock["under"] for lock in registry["rwlocks"] if lock["name"] == f"{prefix}{lock.get('under')}"}
    assert set(re.findall(r"`([^`]+)`", re.sub(words, "", said[1]) if words else said[1])) - {"bravo-"} == there


def test_the_table_of_variables_has_each_variable_with_its_range_and_default(registry: dict) -> None:
    said = {names(row[0])[0]: row for row in rows(section(LOCKS, "## Variables"))}
    assert sorted(said) == sorted(option["name"] for option in registry["config"])
    for option in registry["config"]:
        _, values, default, _ = said[option["name"]]
        if found := re.search(r"(\d+)\.\.(\d+)$", option["type"]):
            assert f"{found[1]} to {found[2]}" in values, option["name"]
        if option["default"] not in ("", "unset"):
            assert default.strip("`") == option["default"], option["name"]


def test_the_table_of_statistics_names_what_is_printed() -> None:
    printed = "".join(file.read_text() for file in sorted((ROOT / "src").rglob("*.[ch]*")))
    said = [name for row in rows(section(MEASURING, "## Statistics of a run")) for name in names(row[0])]
    counters = [name for name in said if re.fullmatch(r"[a-z]+(_[a-z]+)+|phases|naps|bypasses", name)]
    assert len(counters) >= 8
    assert [name for name in counters if not re.search(rf"\b{name}\b", printed)] == []


def test_the_tables_of_peers_and_their_workloads_have_the_locks_of_the_program() -> None:
    known = re.findall(r'Known\{"([\w-]+)"', (ROOT / "apps/peers/known.h").read_text())
    said = list(rows(section(LOCKS, "### What you give up")))
    assert list(dict.fromkeys(names(row[0])[0] for row in said)) == known
    recipes = {path.stem: tomllib.loads(path.read_text()) for path in (ROOT / "apps/recipes").glob("peers-*.toml")}
    workloads = rows(section(LOCKS, "## Another library's lock instead"))
    assert set(recipes) == {names(row[0])[0] for row in workloads}
    compared = {lock for recipe in recipes.values() for lock in recipe["peers"]["lock"]}
    assert compared == set(known) - {"std"}


def test_the_table_of_what_is_installed_and_pkg_config_name_each_header() -> None:
    """Those that no other header includes must be there; parts of others may be left out."""
    folders = [ROOT / "include/lockswap", ROOT / "structures/include/lockswap"]
    texts = {file.name: file.read_text() for folder in folders for file in folder.glob("*.h*")}
    included = set(re.findall(r'#include "(?:lockswap/)?([\w.]+)"', "".join(texts.values())))
    cells = [row[0] for row in rows((ROOT / "docs/installing.md").read_text()) if "include/lockswap/" in row[1]]
    said = [name for cell in cells for name in names(cell) if re.search(r"\.h(pp)?$", name)]
    assert len(said) == len(set(said)) and set(said) <= set(texts)
    assert set(texts) - included <= set(said)
    packages = [
        ROOT / "interpose/api/lockswap.pc.in",
        *(ROOT / "structures/src/library").glob("lockswap-structures.pc.in"),
    ]
    patterns = re.findall(
        r"[\w*]+\.h(?:pp)?\b", "".join(re.findall("Description: .*", "".join(p.read_text() for p in packages)))
    )
    assert [name for name in said if not any(fnmatchcase(name, pattern) for pattern in patterns)] == []
    assert [pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in texts)] == []
