"""The wheel: small, for each glibc that we name, the same wherever it is built, and whole when pip has installed it."""

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = (ROOT / "build").resolve()
sys.path.insert(0, str(ROOT / "tests"))
from git_files import GIT, git_files  # noqa: E402

MOST_BYTES = 25_000_000
MOST_INSTALLED = 120_000_000
# Releases of Debian with other versions of Python: 3.13, and the newest.
SUITES = ("trixie", "sid")

pytestmark = pytest.mark.full


def call(*words: str | Path, status: int = 0, cwd: Path = ROOT, **env: str) -> str:
    """Run a program that must end with `status`; what it printed."""
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=os.environ | env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def by_scripts(command: str, root: Path = ROOT, status: int = 0, **env: str) -> str:
    """Call a function of scripts/ in that source tree."""
    parts = ("common", "packages", "build", "other_debian", "glibc", "wheel")
    sourced = "".join(f". scripts/{part}.sh; " for part in parts)
    return call("bash", "-c", f"set -euo pipefail; {sourced}{command}", cwd=root, status=status, **env)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """For the wheel and what is installed from it; below build/, so that other systems' roots see it, too."""
    found = BUILD / "wheel-test"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    yield found
    shutil.rmtree(found)


@pytest.fixture(scope="module")
def wheel(folder: Path) -> Path:
    call("./run.sh", "wheel", folder / "dist")
    (found,) = (folder / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def venv(wheel: Path, folder: Path) -> Path:
    """An environment of its own, with no package of the system."""
    call("/usr/bin/python3", "-m", "venv", folder / "venv")
    call(folder / "venv/bin/pip", "install", wheel)
    return folder / "venv"


@pytest.fixture(scope="module")
def mutex() -> str:
    """One that the library brings: the registry says which."""
    listed = json.loads(call(BUILD / "bin/lockswap-registry"))["mutexes"]
    return next(row["name"] for row in listed if row["compared_by_default"] and not row["passes_through"])


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """What takes `sort` a moment."""
    file = tmp_path / "lines"
    file.write_text("".join(f"{number * 7919 % 100_003}\n" for number in range(100_003)))
    return file


def test_the_wheel_is_small_and_its_checksum_is_right(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    said = Path(f"{wheel}.sha256").read_text().split()
    assert said == [hashlib.sha256(wheel.read_bytes()).hexdigest(), wheel.name]


def test_the_list_of_parts_beside_it_has_the_wheel_and_what_it_needs(wheel: Path) -> None:
    (file,) = wheel.parent.glob("*.cdx.json")
    listed = json.loads(file.read_text())
    parts = {part["bom-ref"]: part for part in listed["components"]}
    assert parts[wheel.name]["hashes"][0]["content"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    (needs,) = (row["dependsOn"] for row in listed["dependencies"] if row["ref"] == wheel.name)
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {f"pypi {item}" for item in asked} <= set(needs) <= set(parts)


def test_the_tag_names_the_oldest_glibc(wheel: Path) -> None:
    oldest = re.search(r'LOCKSWAP_OLDEST_GLIBC "(\d+)\.(\d+)"', (ROOT / "interpose/exports.h").read_text())
    assert oldest
    assert wheel.name.endswith(f"-py3-none-manylinux_{oldest[1]}_{oldest[2]}_{os.uname().machine}.whl")
    needs = re.search(r'tag:\s+"manylinux_(\d+)_(\d+)_', call(BUILD / "venv/bin/auditwheel", "show", wheel))
    assert needs and (int(needs[1]), int(needs[2])) <= (int(oldest[1]), int(oldest[2]))


def test_what_needs_a_newer_glibc_is_no_wheel(wheel: Path, tmp_path: Path) -> None:
    """The tests' own programs need the system's glibc, as anything that was linked as usual."""
    other, added = tmp_path / wheel.name, "lockswap/native/lib/lockswap/bin/other"
    with zipfile.ZipFile(wheel) as read, zipfile.ZipFile(other, "w") as written:
        for name in read.namelist():
            more = f"{added},,\n" if name.endswith("/RECORD") else ""
            written.writestr(name, read.read(name) + more.encode())
        written.write(BUILD / "bin/lockswap-registry", added)
    said = by_scripts(f"check_wheel {shlex.quote(str(other))}", status=2)
    assert said.splitlines()[-1].endswith("needs more than its tag promises: see build/log/auditwheel.log")


def test_nothing_in_it_names_the_folder_of_the_build(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        named = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]
        assert not named
        assert not [name for name in archive.namelist() if "__pycache__" in name]


def test_another_folder_and_another_time_give_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a source tree somewhere else".replace(" ", "-")
    for name in git_files():
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    (copy / "build").mkdir()
    (copy / "build/venv").symlink_to(BUILD / "venv")
    git = call(*GIT, "rev-parse", "--absolute-git-dir").strip()
    # Without ccache, whose objects would be those of the first build.
    env = {"GIT_DIR": git, "GIT_WORK_TREE": str(copy), "GIT_OPTIONAL_LOCKS": "0", "CCACHE_DISABLE": "1"}
    by_scripts(f"make_wheel {shlex.quote(str(tmp_path))}", root=copy, **env)
    (again,) = tmp_path.glob("*.whl")
    assert again.name == wheel.name
    assert contents(again) == contents(wheel)  # which say more of a difference than the next line
    assert again.read_bytes() == wheel.read_bytes()


def contents(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def test_what_is_installed_is_small_and_draws_nothing(venv: Path) -> None:
    (packages,) = venv.glob("lib/python3*/site-packages")
    ours = [path for path in packages.iterdir() if not re.match(r"pip|setuptools|pkg_resources|_distutils", path.name)]
    files = [file for path in ours for file in [path, *path.rglob("*")] if file.is_file() and not file.is_symlink()]
    assert sum(file.stat().st_size for file in files) <= MOST_INSTALLED
    assert not {"numpy", "matplotlib", "PIL"} & {path.name for path in ours}


def test_the_command_lists_and_runs(venv: Path, mutex: str, tmp_path: Path) -> None:
    lockswap = venv / "bin/lockswap"
    assert mutex in call(lockswap, "list", cwd=tmp_path)
    assert "workload" in call(lockswap, "list", "workloads", cwd=tmp_path)
    maps = call(lockswap, "run", "--mutex", mutex, "--", "cat", "/proc/self/maps", cwd=tmp_path)
    assert "/lockswap/native/lib/liblockswap.so" in maps
    command = [lockswap, "run", "--mutex", mutex, "--stats", "--", "sh", "-c", "kill -TERM $$"]
    # What writes statistics before a signal is there.
    assert "lockswap" in call(*command, status=-signal.SIGTERM, cwd=tmp_path)


def test_each_kind_of_record_can_be_read(venv: Path, lines: Path, tmp_path: Path) -> None:
    lockswap, sort = venv / "bin/lockswap", ["sort", "--parallel=2", "-S1M", "-o", "/dev/null", str(lines)]
    assert "mutexes" in call(lockswap, "audit", "--", *sort, cwd=tmp_path)
    assert "1 process" in call(lockswap, "profile", "--", *sort, cwd=tmp_path)


def compare_sort(lockswap: Path, mutex: str, lines: Path, cwd: Path) -> str:
    sort = ["sort", "--parallel=2", "-S1M", "-o", "/dev/null", str(lines)]
    return call(lockswap, "compare", "--mutex", mutex, "-r", "2", "--name", "sorted", "--", *sort, cwd=cwd)


def test_compare_reports_without_plots_and_says_how_to_get_them(
    venv: Path, wheel: Path, mutex: str, lines: Path, tmp_path: Path, folder: Path
) -> None:
    said = compare_sort(venv / "bin/lockswap", mutex, lines, tmp_path)
    assert f"mutex:{mutex}" in said
    assert said.count("pip install 'lockswap[plots]'") == 1
    report = tmp_path / "lockswap-results/sorted"
    assert (report / "report.html").is_file() and not (report / "plots").exists()
    # What it says helps.
    call("/usr/bin/python3", "-m", "venv", folder / "plots")
    call(folder / "plots/bin/pip", "install", f"{wheel}[plots]")
    assert "plots" not in call(folder / "plots/bin/lockswap", "report", report, cwd=tmp_path)
    assert list((report / "plots").glob("*.svg"))


def test_the_oldest_glibc_runs_what_is_preloaded_and_what_is_started(venv: Path, folder: Path, mutex: str) -> None:
    """Of Debian 11, with a shell of that release, which has neither libpthread nor libdl."""
    there = folder / "oldest"
    by_scripts(f"unpack_debian bullseye $(dpkg --print-architecture) {shlex.quote(str(there))} libc6 dash")
    (libraries,) = there.glob("lib/*-linux-gnu")
    (loader,) = libraries.glob("ld-2.31.so")
    (native,) = venv.glob("lib/python3*/site-packages/lockswap/native/lib")
    preload = f"{native}/liblockswap.so {native}/lockswap/bin/lockswap-stats-on-signal.so"
    command = [loader, "--library-path", libraries, "--preload", preload, there / "bin/dash", "-c", "kill -TERM $$"]
    said = call(*command, status=-signal.SIGTERM, LOCKSWAP_MUTEX=mutex, LOCKSWAP_STATS="1")
    assert "lockswap: dash (pid " in said
    for program in ("registry", "measure", "meter", "audit-read", "calls-read", "profile-read"):  # these bring theirs
        assert "INTERP" not in call("readelf", "-lW", native / f"lockswap/bin/lockswap-{program}")


@pytest.mark.parametrize("suite", SUITES)
def test_other_releases(wheel: Path, folder: Path, suite: str, mutex: str) -> None:
    """Their Python and their glibc, in a root that has nothing else of this system, and no network."""
    root = BUILD / f"glibc/wheel-{suite}/root"
    said = by_scripts(f"make_root {suite} wheel-{suite} python3-venv || true")
    if not (root.parent / "made").exists():
        pytest.skip(said.strip())
    python = call("chroot", root, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    packages = folder / f"packages-{suite}"
    wanted = ["--only-binary", ":all:", "--python-version", python, "--platform", f"manylinux2014_{os.uname().machine}"]
    call(BUILD / "venv/bin/pip", "download", "-q", "-d", packages, *wanted, "--no-deps", *pinned())
    here = f"/mnt/{folder.relative_to(BUILD.parent)}"
    script = f"""
        rm -rf /venv /tried && python3 -m venv /venv && mkdir /tried && cd /tried
        /venv/bin/pip install -q --no-index --find-links {here}/{packages.name} {here}/dist/{wheel.name}
        seq 100000 | shuf >lines
        /venv/bin/lockswap list
        /venv/bin/lockswap run --mutex {mutex} -- cat /proc/self/maps
        /venv/bin/lockswap compare --mutex {mutex} -r 2 -- sort --parallel=2 -S1M -o /dev/null lines
    """
    said = by_scripts(f"in_root wheel-{suite} env -i PATH=/usr/bin:/bin sh -ec {shlex.quote(script)}")
    assert "/lockswap/native/lib/liblockswap.so" in said
    assert "pip install 'lockswap[plots]'" in said and "report.html" in said


def pinned() -> list[str]:
    found = (ROOT / "harness/requirements.txt").read_text().splitlines()
    return [line for line in found if "==" in line]
