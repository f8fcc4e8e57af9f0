"""The reference of the public headers: doxygen understands them, and no public name is without a description."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "docs/Doxyfile").read_text()
FOLDERS = re.search(r"^INPUT += (.*)$", SETTINGS, re.MULTILINE)[1].split()
HEADERS = sorted(
    str(header.relative_to(ROOT)) for folder in FOLDERS for header in (ROOT / folder).rglob("*.h*") if header.is_file()
)
# Parts of other headers, in which nothing is meant for programs.
PARTS = {
    f"structures/include/lockswap/{name}"
    for name in (
        *("guard.hpp", "machine.hpp", "sanitizers.h", "rlu_cache_parts.hpp"),
        *("bonsai/node.hpp", "bonsai/update.hpp", "ldu/forks.hpp"),
    )
}
DESCRIPTION = re.compile(r"^ */\*\* (?!@)(?s:.*?)\*/|(?:^ *///(?! @).*\n)+", re.MULTILINE)

pytestmark = pytest.mark.skipif(shutil.which("doxygen") is None, reason="skipped: doxygen is not installed")


def complaints(headers: list[Path], folder: Path) -> str:
    settings = f"{SETTINGS}\nINPUT = {' '.join(map(str, headers))}\nOUTPUT_DIRECTORY = {folder}\nGENERATE_HTML = NO\n"
    settings += "GENERATE_XML = YES\n"
    ran = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def test_every_public_name_is_described(tmp_path):
    assert complaints([ROOT / folder for folder in FOLDERS], tmp_path) == ""
    made = "".join(file.read_text() for file in (tmp_path / "xml").glob("*.xml"))
    for name in (
        *("lockswap_range_acquire", "LOCKSWAP_RANGE_SHARED", "try_shared_for"),
        *("lockswap_rlu_try_lock", "lockswap_rlu_enter", "lock_const", "call_rcu", "list_add_rcu"),
        *("snapshot_for", "set_garbage_limit", "is_over", "before_fork", "retire"),
        *("insert_or_assign", "contains_from_end", "resize", "increment"),
    ):
        assert f"<name>{name}</name>" in made
    for name in ("lockswap_rlu_steal", "heavy_fence", "give_to"):
        assert f"<name>{name}</name>" not in made
    left_out = [header for header in HEADERS if f'location file="{header}"' not in made and header not in PARTS]
    assert left_out == []


def test_every_public_header_is_part_of_it():
    everywhere = {header for folder in ROOT.glob("**/include/lockswap") for header in folder.rglob("*.h*")}
    assert {str(header.relative_to(ROOT)) for header in everywhere if "build" not in header.parts} == set(HEADERS)
    assert set(HEADERS) >= PARTS


@pytest.mark.parametrize("header", [header for header in HEADERS if header not in PARTS])
def test_a_name_without_a_description_is_found(tmp_path, header):
    text = (ROOT / header).read_text()
    described = list(DESCRIPTION.finditer(text))[-1]
    copy = tmp_path / Path(header).name
    copy.write_text(text[: described.start()] + text[described.end() :])
    assert "is not documented" in complaints([copy], tmp_path)
