"""src/README.md says of each file of src what it is; of range locks, docs/algorithms/range-locks.md does; of the files
of structures/src, structures/README.md."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
STRUCTURES = ROOT / "structures"
LINE = re.compile(r'^\w+\("[^"]+", \w+, "([^"]+)"', re.MULTILINE)
NAME = re.compile(r"[\w./-]+\.(?:h|cpp|def|cmake|in|map)\b")


def names_in(document: Path) -> set[str]:
    return {found.rsplit("/", 1)[-1] for found in NAME.findall(document.read_text(encoding="utf-8"))}


def listed_headers() -> set[str]:
    """The headers of locks: their lines in the lists name them."""
    lists = sorted((SRC / "registry").glob("*_list.def"))
    return {header for path in lists for header in LINE.findall(path.read_text(encoding="utf-8"))}


def unnamed(src: Path, readme: set[str], of_ranges: set[str], listed: set[str]) -> list[str]:
    missing = []
    for path in sorted(src.rglob("*.*")):
        name = path.relative_to(src).as_posix()
        with_its_header = path.suffix == ".cpp" and path.with_suffix(".h").exists()
        if path.name in {"README.md", "CMakeLists.txt"} or name in listed or with_its_header:
            continue
        if path.name not in (of_ranges if name.startswith("range/") else readme):
            missing.append(name)
    return missing


def test_each_file_has_its_words() -> None:
    of_ranges = names_in(ROOT / "docs/algorithms/range-locks.md")
    assert unnamed(SRC, names_in(SRC / "README.md"), of_ranges, listed_headers()) == []


def test_each_structure_has_its_words() -> None:
    assert unnamed(STRUCTURES / "src", names_in(STRUCTURES / "README.md"), set(), set()) == []


def test_a_file_without_words_is_found(tmp_path: Path) -> None:
    for name in ("platform/clock.h", "platform/clock.cpp", "platform/new.h", "range/list.h", "locks/rw/listed.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert unnamed(tmp_path, {"clock.h"}, set(), {"locks/rw/listed.h"}) == ["platform/new.h", "range/list.h"]


def test_each_name_is_a_files() -> None:
    there = {path.name for folder in ("src", "interpose", "audit", "fuzz") for path in (ROOT / folder).rglob("*.*")}
    assert names_in(SRC / "README.md") - there == set()
