"""The reference of the public headers: doxygen understands them, and no public name is without a description."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = (ROOT / "docs/Doxyfile").read_text()
HEADERS = re.search(r"^INPUT += ((?:.*\\\n)*.*)$", SETTINGS, re.MULTILINE)[1].replace("\\", " ").split()

pytestmark = pytest.mark.skipif(shutil.which("doxygen") is None, reason="skipped: doxygen is not installed")


def complaints(headers: list[Path], folder: Path) -> str:
    settings = f"{SETTINGS}\nINPUT = {' '.join(map(str, headers))}\nOUTPUT_DIRECTORY = {folder}\nGENERATE_HTML = NO\n"
    settings += "GENERATE_XML = YES\n"
    ran = subprocess.run(["doxygen", "-"], input=settings, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def test_every_public_name_is_described(tmp_path):
    headers = [ROOT / header for header in HEADERS]
    assert all(header.is_file() for header in headers)
    assert complaints(headers, tmp_path) == ""
    made = "".join(file.read_text() for file in (tmp_path / "xml").glob("*.xml"))
    for name in (
        "lockswap_range_acquire",
        "LOCKSWAP_RANGE_SHARED",
        "try_shared_for",
        "lockswap_rlu_try_lock",
        "lockswap_rlu_enter",
        "lock_const",
    ):
        assert f"<name>{name}</name>" in made
    assert "<name>lockswap_rlu_steal</name>" not in made


def test_no_header_of_a_linked_library_is_left_out():
    """Those that declare a function of a library of ours; the others of structures/ are whole in themselves."""
    declared = [
        header
        for folder in ("include", "structures/include")
        for header in (ROOT / folder / "lockswap").glob("*.h")
        if re.search(r"^(int|void\*?) lockswap_\w+\(", header.read_text(), re.MULTILINE)
    ]
    assert len(declared) > 1
    assert {str(header.relative_to(ROOT)) for header in declared} <= set(HEADERS)


@pytest.mark.parametrize("header", HEADERS)
def test_a_name_without_a_description_is_found(tmp_path, header):
    text = (ROOT / header).read_text()
    # The last description of a name goes.
    described = list(re.finditer(r"^ *(/\*\* (?!@)(?s:.*?)\*/|(/// .*\n)+)", text, re.MULTILINE))[-1]
    copy = tmp_path / Path(header).name
    copy.write_text(text[: described.start()] + text[described.end() :])
    assert "is not documented" in complaints([copy], tmp_path)
