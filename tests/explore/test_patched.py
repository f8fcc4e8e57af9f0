"""A changed copy of a header takes the place of the tree's, also of one that is precompiled."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
sys.path.insert(0, str(HERE))
from patched import Explorer, write_overlay  # noqa: E402


@pytest.mark.skipif(not (BUILD / "compile_commands.json").exists(), reason="nothing is built")
@pytest.mark.parametrize("header", ["posix/rw_contract.h", "the lock's own"])
def test_an_edit_of_a_header_is_compiled(tmp_path, header):
    explorer = Explorer(BUILD)
    unit = next(one for one in explorer.units if one.name.startswith("rw_cases_"))
    if header == "the lock's own":
        header = re.search(r'^#include "(locks/.+)"$', unit.read_text(), re.MULTILINE)[1]
    write_overlay(tmp_path / "overlay", {header: "#error edited\n"})
    with pytest.raises(subprocess.CalledProcessError) as failed:
        explorer.compile(unit, tmp_path / "overlay", tmp_path / "unit.o")
    assert "#error edited" in failed.value.stderr
