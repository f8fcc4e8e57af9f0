"""What there is to run: the tests that ctest knows, the files of pytest, and what scripts/test.sh does itself."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests", "structures/tests")
# What `./run.sh test --full` runs besides: functions of scripts/test.sh, in their order there.
PARTS = ("lint", "glibc", "aarch64, emulated", "clang", "harness, alone")
MARKED = re.compile(r"pytest\.mark\.(full|alone)\b")
AT_THE_TOP = re.compile(r"^pytestmark = (\[[^\]]*\]|.*)", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    name: str  # ctest:stress/ba/park, pytest:tests/harness/test_run.py, part:lint
    tier: str  # test: `./run.sh test` runs it; full: only --full does
    words: tuple[str, ...] = ()  # of its command, and the values of its environment
    folder: str = ""  # of its tests, as tests/unit
    number: int = 0  # ctest's
    by_output: bool = False  # ctest judges it by its output

    @property
    def kind(self) -> str:
        return self.name.partition(":")[0]

    @property
    def own_name(self) -> str:
        return self.name.partition(":")[2]

    @property
    def part(self) -> str:
        """The part of `./run.sh test` that runs it: its budget is that part's."""
        if self.kind == "pytest":
            return "harness"
        if self.kind == "part":
            return self.own_name
        if self.own_name.startswith("explore"):
            return "exploration"
        return "programs" if self.own_name.startswith("programs") else "unit and conformance"


def of_ctest(listed: dict, build: Path) -> list[Entry]:
    """From what `ctest --show-only=json-v1` prints."""
    entries = []
    for number, test in enumerate(listed["tests"], start=1):
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        words = list(test.get("command", []))
        for assigned in properties.get("ENVIRONMENT", []):
            words.append(assigned.partition("=")[2])
        # The measuring program and the test's name come before the command.
        if words and Path(words[0]).name == "measured":
            words = words[2:]
        folder = properties.get("WORKING_DIRECTORY", "").removeprefix(f"{build}").strip("/")
        entries.append(
            Entry(
                f"ctest:{test['name']}",
                "full" if "full" in properties.get("LABELS", []) else "test",
                tuple(words),
                folder,
                number,
                "PASS_REGULAR_EXPRESSION" in properties,
            )
        )
    return entries


def pytest_files(root: Path = ROOT) -> list[Entry]:
    entries = []
    for file in sorted(file for tests in TESTS for file in (root / tests).rglob("test_*.py")):
        # A file has tests of both tiers, unless its mark at the top puts all in one; those that run alone are a part.
        marks = set(MARKED.findall(" ".join(AT_THE_TOP.findall(file.read_text(encoding="utf-8")))))
        if "alone" in marks:
            continue
        tier = "full" if "full" in marks else "test"
        name = file.relative_to(root).as_posix()
        entries.append(Entry(f"pytest:{name}", tier, folder=file.parent.relative_to(root).as_posix()))
    return entries


def all_entries(build: Path) -> list[Entry]:
    words = ["ctest", "--test-dir", str(build), "--show-only=json-v1"]
    listed = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return [*of_ctest(listed, build), *pytest_files(), *(Entry(f"part:{name}", "full") for name in PARTS)]
