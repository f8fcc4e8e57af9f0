"""check_abi.py: a change of what programs are linked with is found, and said to break them only if it does."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = "struct point { long x, y; };\nlong sum(const struct point* p);\n"
SOURCE = '#include "point.h"\nlong sum(const struct point* p) { return p->x + p->y; }\n'
MORE = "long twice(long x);\n", "long twice(long x) { return 2 * x; }\n"

pytestmark = pytest.mark.skipif(not shutil.which("abidiff"), reason="libabigail is not installed")


def load():
    spec = importlib.util.spec_from_file_location("check_abi", ROOT / "scripts/check_abi.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Library:
    """A small one, with its headers and the record of its first form."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file, self.record = folder, folder / "libpoint.so.1", folder / "libpoint.so.1.abi"
        self.check = load()
        self.build(HEADER, SOURCE)
        self.check.record(self.file, folder, self.record)

    def build(self, header: str, source: str) -> None:
        (self.folder / "point.h").write_text(header)
        (self.folder / "point.c").write_text(source)
        command = ["cc", "-g", "-shared", "-fPIC", "-Wl,-soname,libpoint.so.1", "-o", self.file, "point.c"]
        subprocess.run(command, cwd=self.folder, check=True)

    def finding(self) -> str | None:
        return self.check.finding(self.file, self.folder, self.record)


@pytest.fixture
def library(tmp_path) -> Library:
    return Library(tmp_path)


def test_the_same_interface_is_no_finding(library):
    library.build(HEADER, SOURCE.replace("p->x + p->y", "p->y + p->x"))
    assert library.finding() is None


def test_a_member_more_may_break_programs(library):
    library.build(HEADER.replace("x, y", "x, y, z"), SOURCE)
    said = library.finding()
    assert said.startswith(f"{library.record}:1: programs that were linked with libpoint.so.1 may break")
    assert "SOVERSION" in said


def test_a_function_less_breaks_programs(library):
    library.build(HEADER + MORE[0], SOURCE + MORE[1])
    library.check.record(library.file, library.folder, library.record)
    library.build(HEADER, SOURCE)
    assert "may break" in library.finding()


def test_a_function_more_has_to_be_recorded(library):
    library.build(HEADER + MORE[0], SOURCE + MORE[1])
    said = library.finding()
    assert "has more than is recorded" in said
    assert "debian/*.symbols" in said


def test_a_library_without_a_record_is_a_finding(library):
    library.record.unlink()
    assert "has no record" in library.finding()
