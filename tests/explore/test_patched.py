"""A changed copy of a header takes the place of the tree's, also of one that is precompiled; and what is linked with it
are the explorer's own objects."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
sys.path.insert(0, str(HERE))
from explorer import LOCKS, ROOT, Explored, of_lock  # noqa: E402
from patched import Explorer, write_overlay  # noqa: E402

pytestmark = pytest.mark.skipif(not (BUILD / "compile_commands.json").exists(), reason="nothing is built")

ONE_LOCK = sorted((HERE / "faults").glob("rw-*.toml"))[0].stem  # rw-NAME
EXPLORERS = {
    "lockswap-explore": LOCKS,
    "lockswap-explore-structures": Explored.read(ROOT / "structures/tests/explore/explorer.toml"),
    f"lockswap-explore-{ONE_LOCK}": of_lock(ONE_LOCK.replace("-", "/", 1)),
}


@pytest.mark.parametrize("program", EXPLORERS)
def test_it_is_linked_with_what_the_build_links(program):
    explorer = Explorer(BUILD, EXPLORERS[program])
    link = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", "-s", f"bin/{program}"], capture_output=True, text=True, check=True
    ).stdout
    linked = sorted(word for word in shlex.split(link) if word.endswith(".o"))
    assert len(linked) > 20
    assert sorted(str(explorer.object_of(unit).relative_to(BUILD)) for unit in explorer.units) == linked


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
