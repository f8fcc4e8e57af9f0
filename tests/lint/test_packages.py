"""scripts/packages.sh: what is installed where the distribution names it otherwise, and what is said where it can't be.

The system is a made-up one: a PATH with nothing but fakes of apt and dpkg and the tools that the scripts use.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

FAKES = {
    "dpkg-query": 'for last; do :; done; grep -qx "$last" "$SYSTEM/installed" && echo installed',
    "apt-cache": """[ -e "$SYSTEM/updated" ] && grep -qx "$2" "$SYSTEM/known" && found=1.0 || found='(none)'
printf '%s:\\n  Installed: (none)\\n  Candidate: %s\\n' "$2" "$found" || exit
sleep 0.01  # so that a reader that stops at that line is gone when this one writes on
echo '  Version table:' || exit 141""",
    "apt-get": """echo "apt-get $*" >>"$SYSTEM/log"
for last; do
  case $last in
    update) touch "$SYSTEM/updated" ;;
    -* | DPkg* | install) ;;
    *) grep -qx "$last" "$SYSTEM/known" || { echo "E: Unable to locate package $last"; exit 100; }
       echo "$last" >>"$SYSTEM/installed" ;;
  esac
done""",
    "sudo": 'exec "$@"',
}
TOOLS = ("bash", "sh", "cat", "dirname", "env", "grep", "mkdir", "nproc", "sleep", "tail", "touch")
PARTS = ("common", "packages", "build", "programs", "workloads")


class System:
    """A distribution that knows some packages and has some of them."""

    def __init__(self, folder: Path, scripts: Path) -> None:
        self.folder, self.scripts = folder, scripts
        self.bin = folder / "bin"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))
        for name in ("installed", "known", "log"):
            self.add(name)

    def add(self, file: str, *names: str) -> None:
        with (self.folder / file).open("a") as lines:
            lines.writelines(f"{name}\n" for name in names)

    def with_apt(self, known: str = "", installed: str = "") -> None:
        self.program(**FAKES)
        self.add("known", *known.split())
        self.add("installed", *installed.split())

    def program(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o755)

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess:
        sources = "".join(f". scripts/{part}.sh; " for part in PARTS)
        words = ["bash", "-c", f"set -euo pipefail; {sources} PYTHON=python3\n{script}"]
        env = {"PATH": str(self.bin), "SYSTEM": str(self.folder), **variables}
        return subprocess.run(words, cwd=self.scripts, env=env, capture_output=True, text=True)

    @property
    def installs(self) -> list[list[str]]:
        """The packages of each installation."""
        lines = (self.folder / "log").read_text().splitlines()
        return [line.split("--no-install-recommends ")[1].split() for line in lines if " install " in line]


@pytest.fixture
def system(checkout, tmp_path_factory) -> System:
    return System(tmp_path_factory.mktemp("system"), checkout.root)


ALLOCATORS = "PACKAGES_tests=('libmimalloc3|libmimalloc2.0' 'libtcmalloc-minimal4t64|libtcmalloc-minimal4')\n"


@pytest.mark.parametrize(
    "known", ["libmimalloc3 libtcmalloc-minimal4t64", "libmimalloc2.0 libtcmalloc-minimal4"], ids=["13", "12"]
)
def test_the_name_that_the_distribution_has_is_installed(system, known):
    system.with_apt(known)
    done = system.run(f"{ALLOCATORS}need_packages tests; lacks tests || echo whole")
    assert (done.returncode, done.stderr) == (0, "")
    assert "whole" in done.stdout
    assert system.installs == [known.split()]


def test_of_two_names_that_apt_knows_the_first_is_installed(system):
    system.with_apt("libmimalloc2.0 libmimalloc3 libtcmalloc-minimal4")
    system.run(f"{ALLOCATORS}need_packages tests")
    assert system.installs == [["libmimalloc3", "libtcmalloc-minimal4"]]


def test_nothing_is_installed_if_another_name_is_there(system):
    system.with_apt("libmimalloc3 libtcmalloc-minimal4t64", "libmimalloc2.0 libtcmalloc-minimal4")
    done = system.run(f"{ALLOCATORS}need_packages tests")
    assert (done.returncode, done.stdout, done.stderr, system.installs) == (0, "", "", [])


def test_what_apt_does_not_know_is_said_by_purpose_and_the_rest_is_installed(system):
    system.with_apt("libtcmalloc-minimal4")
    done = system.run(f"{ALLOCATORS}need_packages tests; lacks tests && echo goes on")
    assert done.returncode == 0
    assert "goes on" in done.stdout
    assert "\n  for tests: libmimalloc3 or libmimalloc2.0\n" in done.stderr
    assert system.installs == [["libtcmalloc-minimal4"]]


def test_an_installation_that_fails_is_an_error(system):
    system.with_apt("libmimalloc3 libtcmalloc-minimal4t64")
    system.program(**{"apt-get": "case $* in *install*) exit 100 ;; *) touch $SYSTEM/updated ;; esac"})
    done = system.run(f"{ALLOCATORS}need_packages tests; echo goes on")
    assert done.returncode != 0
    assert "goes on" not in done.stdout


def test_without_apt_all_is_listed_by_purpose(system):
    done = system.run('need_packages "${BUILD_GROUPS[@]}"; must_have compiler; echo goes on')
    assert done.returncode == 2
    assert "goes on" not in done.stdout
    for line in (
        "to compile: g++, cmake, ninja-build",
        "for our benchmarks: libcli11-dev, libkyotocabinet-dev, libssl-dev",
        "for the tests in C++: libgtest-dev",
    ):
        assert f"\n  {line}\n" in done.stderr
    assert "can't continue: install the packages that are missing to compile" in done.stderr


COMPILER = 'while read -r line; do for h in $HEADERS; do case $line in *"<$h>"*) exit 0 ;; esac; done; done; exit 1'


def test_without_apt_what_is_on_path_counts_as_there_and_the_build_goes_on_without_benchmarks(system):
    system.program(
        **{"c++": COMPILER, "cmake": 'echo "$*" >$SYSTEM/cmake', "ninja": ":", "python3": ":", "update-ca-trust": ":"}
    )
    headers = "gtest/gtest.h CLI/CLI.hpp openssl/ssl.h"
    done = system.run('need_packages "${BUILD_GROUPS[@]}"; must_have compiler python; configure', HEADERS=headers)
    assert done.returncode == 0, done.stderr
    assert "to compile" not in done.stderr
    assert "\n  for our benchmarks: libkyotocabinet-dev\n" in done.stderr
    assert "-DLOCKSWAP_APPS=OFF -DLOCKSWAP_HARNESS=ON -DLOCKSWAP_TESTS=OFF" in (system.folder / "cmake").read_text()
    whole = system.run('need_packages "${BUILD_GROUPS[@]}"; configure', HEADERS=f"{headers} kcpolydb.h sys/sdt.h")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "-DLOCKSWAP_APPS=ON -DLOCKSWAP_HARNESS=ON -DLOCKSWAP_TESTS=ON" in (system.folder / "cmake").read_text()


def test_a_header_below_cmakes_prefix_counts_as_there(system, tmp_path):
    (tmp_path / "include/CLI").mkdir(parents=True)
    (tmp_path / "include/CLI/CLI.hpp").touch()
    done = system.run("need_packages benchmarks", CMAKE_PREFIX_PATH=f"/nowhere:{tmp_path}")
    assert "for our benchmarks: libkyotocabinet-dev, libssl-dev\n" in done.stderr


def test_a_module_that_python_lacks_is_missing(system):
    system.program(python3='[ "$*" = "-c import nothing" ]')
    assert "python3-venv" in system.run("need_packages python").stderr
    system.program(python3='[ "$*" = "-c import ensurepip" ]')
    assert "python3-venv" not in system.run("need_packages python").stderr


def test_programs_whose_packages_are_not_there_are_noted_for_their_cases(system):
    system.with_apt("git redis-server")
    system.program(
        python3=r"case $2 in packages) printf 'git\nnew|old\n' ;; *) printf 'redis-server\nvarnish\n';; esac"
    )
    (system.scripts / "tests/programs").mkdir(parents=True)
    (system.scripts / "tests/programs/unpack.sh").write_text('echo "$*" >$SYSTEM/unpacked\n')
    done = system.run("get_programs")
    assert done.returncode == 0, done.stderr
    assert (system.scripts / "build/programs/absent").read_text() == "new|old\nvarnish\n"
    assert (system.folder / "unpacked").read_text().split()[1:] == ["redis-server"]


def test_every_group_has_a_purpose_and_a_line_without_faults(system):
    done = system.run(
        'for group in "${!PURPOSES[@]}"; do [[ $group == programs ]] && continue\n'
        'declare -n list=PACKAGES_$group; printf "%s\\n" "${list[@]}"; done; compgen -A variable PACKAGES_'
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    groups = {line for line in lines if line.startswith("PACKAGES_")}
    assert len(groups) >= 10
    for line in lines:
        how = line.split()[1:]
        assert len(how) <= 1, line
        assert not how or how[0].split(":")[0] in ("program", "header", "python"), line
