"""The Debian packages, built, installed, used and removed in small systems of each release that they are for."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import roots

SUITES = ("bookworm", "trixie")
MOST_SECONDS = 120  # to install, measure and remove, of the processors
TREE = "one/lockswap"
ELSEWHERE = "another/folder/lockswap"
LEFT_BY_OTHERS = {"etc/hosts"}  # netbase's, which Python needs: it makes the file and keeps it
# Where what is asked of click, rich, jinja2, matplotlib, tomli_w and pyelftools differs by their versions.
HARNESS_TESTS = ("report", "request", "palette", "records", "run")
PACKAGES = {"lockswap", "liblockswap1", "liblockswap-structures1", "liblockswap-dev", "lockswap-structures-dev"}

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(roots.why_not() is not None, reason=str(roots.why_not())),
]


@dataclass(frozen=True)
class Built:
    empty: roots.System  # without a package that isn't essential
    system: roots.System  # where they were built
    folder: Path  # with the packages

    @property
    def debs(self) -> list[Path]:
        return sorted(self.folder.glob("*.deb"))

    def put_debs_into(self, system: roots.System) -> None:
        """In there they are in /packages."""
        target = system.folder / "packages"
        target.mkdir()
        for file in self.debs:
            shutil.copy2(file, target)


def copy_tree(target: Path) -> None:
    script = '. scripts/common.sh && . scripts/lint.sh && . scripts/package.sh && copy_tree "$1"'
    subprocess.run(["bash", "-ec", script, "bash", target], cwd=roots.ROOT, check=True)


def build(system: roots.System, tree: str) -> Path:
    """Build below /build; the folder with the packages."""
    copy_tree(system.folder / "build" / tree)
    options = f"parallel={os.cpu_count()}"
    system.run(f"cd /build/{tree} && dpkg-buildpackage -us -uc -b", DEB_BUILD_OPTIONS=options)
    return (system.folder / "build" / tree).parent


@pytest.fixture(scope="module", params=SUITES)
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    empty = roots.make(request.param)
    with roots.copy_of(empty) as system:
        copy_tree(system.folder / "build" / TREE)
        system.run("apt-get -qy install --no-install-recommends build-essential")
        system.run(f"cd /build/{TREE} && apt-get -qy build-dep ./")
        yield Built(empty, system, build(system, TREE))


def test_each_package_is_there_with_its_debug_symbols(built: Built) -> None:
    names = {file.name.partition("_")[0] for file in built.debs}
    assert names >= PACKAGES
    assert {f"{name}-dbgsym" for name in ("lockswap", "liblockswap1", "liblockswap-structures1")} <= names


def test_lintian_finds_nothing_that_is_not_explained(built: Built) -> None:
    changes = next(built.folder.glob("*.changes")).name
    built.system.run("apt-get -qy install --no-install-recommends lintian")
    said = built.system.run(f"cd /build/{Path(TREE).parent} && lintian --fail-on error,warning --allow-root {changes}")
    assert not re.search(r"^[EW]:", said, re.MULTILINE), said


def test_two_builds_in_different_folders_are_equal(built: Built) -> None:
    again = build(built.system, ELSEWHERE)

    def sums(folder: Path) -> dict[str, str]:
        return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.deb")}

    assert sums(again) == sums(built.folder)


def test_checksums_and_the_list_of_parts_lie_beside_them(built: Built) -> None:
    script = (
        '. scripts/common.sh && . scripts/package.sh && describe_packages "$1" && cd "$1" && sha256sum -c SHA256SUMS'
    )
    subprocess.run(["bash", "-ec", script, "bash", built.folder], cwd=roots.ROOT, check=True, stdout=subprocess.DEVNULL)
    listed = {line.split()[1] for line in (built.folder / "SHA256SUMS").read_text().splitlines()}
    assert listed == {file.name for pattern in ("*.deb", "*.cdx.json") for file in built.folder.glob(pattern)}
    parts = next(built.folder.glob("*.cdx.json")).read_text()
    assert all(f'"bom-ref": "{file.name}"' in parts for file in built.debs)


def test_installed_used_and_removed_nothing_is_left(built: Built) -> None:
    with roots.copy_of(built.empty) as system:
        before = system.files()
        built.put_debs_into(system)
        files = " ".join(f"/packages/{file.name}" for file in built.debs if "-dbgsym_" not in file.name)
        install = f"apt-get -qy install --no-install-recommends {files}"
        system.run(f"{install} --download-only")
        seconds = cpu_seconds()
        system.run(install)
        shutil.copy2(roots.ROOT / "debian/tests/command", system.folder / "packages")
        said = system.run("/packages/command")
        assert re.search(r"^(Use|Keep|Can't tell)", said, re.MULTILINE), said
        system.run("apt-get -qy purge 'lockswap*' 'liblockswap*' && apt-get -qy autoremove --purge")
        assert cpu_seconds() - seconds < MOST_SECONDS
        shutil.rmtree(system.folder / "packages")
        assert system.files() - before <= LEFT_BY_OTHERS


def cpu_seconds() -> float:
    """Of the children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def test_the_harness_passes_its_tests_on_the_python_packages_of_the_release(built: Built) -> None:
    names = ["click", "jinja2", "matplotlib", "pyelftools", "pytest", "rich", "scipy", "tomli-w"]
    built.system.run("apt-get -qy install --no-install-recommends " + " ".join(f"python3-{name}" for name in names))
    files = " ".join(f"tests/harness/test_{name}.py" for name in HARNESS_TESTS)
    command = f"cd /build/{TREE} && python3 -m pytest -q -m 'not full and not alone' -k 'not unknown_layout' {files}"
    said = built.system.run(command, PYTHONPATH=f"/build/{TREE}/harness")
    assert re.search(r"^[1-9][0-9]{2,} passed", said, re.MULTILINE), said


def test_autopkgtest_passes(built: Built) -> None:
    with roots.copy_of(built.empty) as system:
        built.put_debs_into(system)
        copy_tree(system.folder / "tree")
        system.run("apt-get -qy install --no-install-recommends autopkgtest")
        said = system.run("cd / && autopkgtest --no-built-binaries /packages/*.deb /tree -- null")
        summary = said.rpartition("@ summary\n")[2]
        assert re.findall(r"^(\w+) +PASS$", summary, re.MULTILINE) == ["preload", "command", "consumers"], said
