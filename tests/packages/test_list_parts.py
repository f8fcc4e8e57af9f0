"""list_parts.py lists packages with their checksums, what they need and what they were built with."""

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")
CONTROLS = {
    "liblockswap1": "Depends: libc6 (>= 2.34)",
    "lockswap": "Depends: liblockswap1 (= 0.2.0), python3-click (>= 8.1.3), libdw1t64 | libdw1",
}
BUILDINFO = """Source: lockswap
Installed-Build-Depends:
 cmake (= 3.25.1-1),
 g++-12 (= 12.2.0-14),
 libc6-dev (= 2.36-9),
 zlib1g (= 1:1.2.13)
"""


def make_deb(folder: Path, name: str, more: str) -> Path:
    (folder / name / "DEBIAN").mkdir(parents=True)
    fields = f"Package: {name}\nVersion: 0.2.0\nArchitecture: amd64\nMaintainer: nobody <nobody@example.org>\n"
    (folder / name / "DEBIAN/control").write_text(f"{fields}Description: for a test\n{more}\n")
    deb = folder / f"{name}_0.2.0_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", folder / name, deb], check=True, capture_output=True)
    shutil.rmtree(folder / name)
    return deb


def list_parts(folder: Path, status: int = 0) -> str:
    command = [sys.executable, ROOT / "scripts/list_parts.py", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    return done.stderr


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name, more in CONTROLS.items():
        make_deb(tmp_path, name, more)
    (tmp_path / "lockswap_0.2.0_amd64.buildinfo").write_text(BUILDINFO)
    with zipfile.ZipFile(tmp_path / "lockswap-0.2.0-py3-none-any.whl", "w") as wheel:
        metadata = "Metadata-Version: 2.1\nName: lockswap\nVersion: 0.2.0\nRequires-Dist: click>=8.1.3\n"
        wheel.writestr("lockswap-0.2.0.dist-info/METADATA", metadata)
    return tmp_path


def bill(folder: Path) -> dict:
    list_parts(folder)
    return json.loads(next(folder.glob("*.cdx.json")).read_text())


def test_each_package_is_listed_with_its_checksum(packages):
    found = bill(packages)
    assert (found["bomFormat"], found["metadata"]["component"]["name"]) == ("CycloneDX", "lockswap")
    parts = {part["bom-ref"]: part for part in found["components"]}
    for file in [*packages.glob("*.deb"), *packages.glob("*.whl")]:
        assert parts[file.name]["hashes"][0]["content"] == hashlib.sha256(file.read_bytes()).hexdigest()
        assert parts[file.name]["licenses"] == [{"license": {"id": "MIT"}}]


def test_what_a_package_needs_is_a_package_of_ours_or_of_others(packages):
    needs = {row["ref"]: row.get("dependsOn", []) for row in bill(packages)["dependencies"]}
    assert needs["lockswap_0.2.0_amd64.deb"] == [
        "deb libdw1t64 | libdw1",
        "deb python3-click (>= 8.1.3)",
        "liblockswap1_0.2.0_amd64.deb",
    ]
    assert needs["lockswap-0.2.0-py3-none-any.whl"] == ["pypi click>=8.1.3"]


def test_the_compiler_and_what_the_build_asks_for_are_listed_with_their_versions(packages):
    excluded = {part["name"]: part["version"] for part in bill(packages)["components"] if part.get("scope")}
    assert excluded == {"cmake": "3.25.1-1", "g++-12": "12.2.0-14", "libc6-dev": "2.36-9"}


def test_the_same_packages_give_the_same_list(packages):
    first = bill(packages)
    assert bill(packages) == first
    make_deb(packages, "lockswap", CONTROLS["lockswap"] + ", strace")
    assert bill(packages)["serialNumber"] != first["serialNumber"]


def test_a_folder_without_packages_is_an_error(tmp_path):
    assert "there is no package" in list_parts(tmp_path, status=1)
