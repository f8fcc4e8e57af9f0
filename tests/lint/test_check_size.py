"""scripts/check_size.py: a library within its bound, and one that has outgrown it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from check_size import check, stripped_size  # noqa: E402


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("size")
    source = folder / "big.c"
    source.write_text("const char big[100000] = {1};\n")
    made = folder / "big.so"
    subprocess.run(["gcc", "-g3", "-shared", "-fPIC", "-o", made, source], check=True)
    return made


def test_debug_information_does_not_count(library):
    assert 100_000 < stripped_size(library) < library.stat().st_size


def test_a_library_within_its_bound_passes(library):
    assert check(library, stripped_size(library), 0) == []


def test_one_that_has_outgrown_it_is_a_finding(library):
    (finding,) = check(library, stripped_size(library) - 1, 0)
    assert finding.startswith(f"{library}:1: {stripped_size(library):,} bytes") and "at most" in finding


def test_another_compiler_has_slack(library, tmp_path):
    other = tmp_path / "other.so"
    subprocess.run(["objcopy", "--remove-section=.comment", "--strip-debug", library, other], check=True)
    assert check(other, stripped_size(other) - 1, 1) == []
    assert check(other, stripped_size(other) - 2, 1) != []
