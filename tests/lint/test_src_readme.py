"""Each file of src and structures/src begins with a comment that says what it is, and their READMEs say which files to
read first: they have words on each folder, and each file that they name exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
STRUCTURES = ROOT / "structures"
NAME = re.compile(r"[\w./-]+\.(?:h|cpp|def|cmake|in|map)\b")
HEAD = re.compile(r"(?://|/\*|#)\s+\S+\s+\S+\s+\S+")  # a comment of at least three words
FOR_TOOLS = {".in", ".txt", ".md"}  # package files, and what cmake and people read


def names_in(document: Path) -> set[str]:
    return {found.rsplit("/", 1)[-1] for found in NAME.findall(document.read_text(encoding="utf-8"))}


def without_words(src: Path) -> list[str]:
    """The files that don't say what they are; the words of a header are those of its source file, too."""
    missing = []
    for path in sorted(src.rglob("*.*")):
        with_its_header = path.suffix == ".cpp" and path.with_suffix(".h").exists()
        if path.suffix not in FOR_TOOLS and not with_its_header and not HEAD.match(path.read_text(encoding="utf-8")):
            missing.append(path.relative_to(src).as_posix())
    return missing


def without_mention(src: Path, readme: str) -> list[str]:
    """The folders that the README doesn't name."""
    return [folder.name for folder in sorted(src.iterdir()) if folder.is_dir() and f"{folder.name}/" not in readme]


def test_each_file_has_its_words() -> None:
    assert without_words(SRC) == []
    assert without_words(STRUCTURES / "src") == []


def test_each_folder_has_its_words() -> None:
    assert without_mention(SRC, (SRC / "README.md").read_text(encoding="utf-8")) == []
    assert without_mention(STRUCTURES / "src", (STRUCTURES / "README.md").read_text(encoding="utf-8")) == []


def test_files_and_folders_without_words_are_found(tmp_path: Path) -> None:
    texts = {
        "platform/clock.h": "// Time: a monotonic clock.\n",
        "platform/clock.cpp": '#include "clock.h"\n',
        "platform/start.cpp": '#include "clock.h"\n',
        "range/list.h": "#pragma once\n",
        "range/list.def": "// one\nA(1)\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert without_words(tmp_path) == ["platform/start.cpp", "range/list.def", "range/list.h"]
    assert without_mention(tmp_path, "- `platform/`: the machine") == ["range"]


def test_each_name_is_a_files() -> None:
    folders = ("src", "interpose", "audit", "fuzz", "include")
    there = {path.name for folder in folders for path in (ROOT / folder).rglob("*.*")}
    assert names_in(SRC / "README.md") - there == set()
    assert names_in(ROOT / "docs/range-locks.md") - there == set()
    of_structures = {path.name for folder in ("src", "include") for path in (STRUCTURES / folder).rglob("*.*")}
    assert names_in(STRUCTURES / "README.md") - of_structures == set()
