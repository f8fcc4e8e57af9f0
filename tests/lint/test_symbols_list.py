"""interpose/symbols.txt: the version scripts and the header that CMake makes of it, and lines that are none."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from check_symbols import listed

ROOT = Path(__file__).resolve().parents[2]
# What a build does with the list, without the rest of it.
SCRIPT = """\
cmake_minimum_required(VERSION 3.21)
set(CMAKE_SYSTEM_PROCESSOR {architecture})
set(CMAKE_BINARY_DIR ${{CMAKE_CURRENT_LIST_DIR}})
function(lockswap_write file text)
  file(WRITE ${{file}} "${{text}}")
endfunction()
include(interpose/symbols.cmake)
foreach(library lockswap api audit fuzz)
  lockswap_version_script(${{library}} ${{CMAKE_BINARY_DIR}}/${{library}}.map)
endforeach()
"""
LIST = "first x86_64 2.2.5\nfirst aarch64 2.17\n"


@pytest.fixture
def made(tmp_path: Path):
    def run(architecture: str, listed_symbols: str | None = None) -> subprocess.CompletedProcess:
        (tmp_path / "interpose").mkdir()
        (tmp_path / "interpose/symbols.cmake").write_text((ROOT / "interpose/symbols.cmake").read_text())
        text = (ROOT / "interpose/symbols.txt").read_text() if listed_symbols is None else LIST + listed_symbols
        (tmp_path / "interpose/symbols.txt").write_text(text)
        (tmp_path / "run.cmake").write_text(SCRIPT.format(architecture=architecture))
        return subprocess.run(["cmake", "-P", "run.cmake"], cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.mark.parametrize(("architecture", "first"), [("x86_64", "2.2.5"), ("aarch64", "2.17")])
def test_each_architecture_has_the_versions_of_its_glibc(made, tmp_path, architecture, first):
    ran = made(architecture)
    assert ran.returncode == 0, ran.stderr
    symbols = {library: set(listed(tmp_path / f"{library}.map")) for library in ("lockswap", "api", "audit", "fuzz")}
    for library in ("lockswap", "audit", "fuzz"):
        numbers = [v.removeprefix("GLIBC_").split(".") for _, v in symbols[library] if v.startswith("GLIBC_")]
        assert min([int(n) for n in number] for number in numbers) == [int(n) for n in first.split(".")]
        assert {("pthread_mutex_lock", f"GLIBC_{first}"), ("pthread_rwlock_rdlock", "GLIBC_2.34")} <= symbols[library]
    assert symbols["api"] < symbols["lockswap"]
    # Condition variables changed their layout between x86-64's first glibc and aarch64's.
    conds = {version for name, version in symbols["lockswap"] if name == "pthread_cond_wait"}
    assert conds == ({"GLIBC_2.2.5", "GLIBC_2.3.2"} if architecture == "x86_64" else {"GLIBC_2.17"})
    header = (tmp_path / "interpose/exported/interpose/exported_symbols.h").read_text()
    assert f'#define LOCKSWAP_OLDEST "GLIBC_{first}"' in header
    assert f'asm(".symver lockswap_mutex_trylock,__pthread_mutex_trylock@GLIBC_{first}");' in header
    assert 'asm(".symver lockswap_mutex_trylock,pthread_mutex_trylock@@GLIBC_2.34");' in header


def test_versions_come_in_order(made, tmp_path):
    ran = made("x86_64", "b @2.30@@2.34 audit ours_b\na @2.2.5@@2.34 audit,fuzz ours_a\nc LOCKSWAP_1 audit\n")
    assert ran.returncode == 0, ran.stderr
    nodes = re.findall(r"(\w[\w.]*) \{.*?\}\s?([\w.]*);", (tmp_path / "audit.map").read_text(), re.DOTALL)
    assert nodes == [
        ("GLIBC_2.2.5", ""),
        ("GLIBC_2.30", "GLIBC_2.2.5"),
        ("GLIBC_2.34", "GLIBC_2.30"),
        ("LOCKSWAP_1", ""),
    ]
    assert (tmp_path / "audit.map").read_text().count("local:") == 1
    assert set(listed(tmp_path / "fuzz.map")) == {("a", "GLIBC_2.2.5"), ("a", "GLIBC_2.34")}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("pthread_join 2.34 audit lockswap_join", "this is no line of the list: pthread_join 2.34 audit lockswap_join"),
        ("pthread_join @@2.34 audit", "this is no line of the list: pthread_join @@2.34 audit"),
        ("lockswap_version LOCKSWAP_1", "this is no line of the list: lockswap_version LOCKSWAP_1"),
        ("pthread_join @@2.34 audti lockswap_join", "there is no library 'audti': pthread_join"),
        ("sem_post @@2.34 audit a\nsem_post @2.34 audit b", "audit has sem_post@GLIBC_2.34 already: sem_post @2.34"),
    ],
)
def test_a_line_that_is_none_stops_cmake(made, line, problem):
    ran = made("x86_64", line + "\n")
    assert ran.returncode != 0
    assert f"symbols.txt: {problem}" in " ".join(ran.stderr.split())


def test_an_architecture_that_the_list_does_not_know(made):
    ran = made("riscv64", "sem_post @@2.34 audit a\n")
    assert ran.returncode != 0
    assert "no line 'first riscv64 VERSION'" in " ".join(ran.stderr.split())
