"""Which line and function is named for a call of a lock function in C++, as compilers and their options differ."""

import os
import re
import shutil
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from lockswap.profile import symbolizer
from lockswap.profile.names import Names, site

HERE = Path(__file__).parent
SOURCE = (HERE / "place.cpp").read_text().splitlines()
DEBUG = {
    "dwarf4": ["-gdwarf-4"],
    "dwarf5": ["-gdwarf-5"],
    "split": ["-gdwarf-5", "-gsplit-dwarf"],
    "noplt": ["-gdwarf-5", "-fno-plt"],
}
MADE_OF_DWARF5 = {
    "packed": ["objcopy", "--compress-debug-sections=zlib"],
    "none": ["objcopy", "--strip-debug"],
    "stripped": ["objcopy", "--strip-all"],
}
KINDS = (*DEBUG, *MADE_OF_DWARF5, "lost")  # the last: split, whose part in another file is gone
# Beside -O2: compilers inline more or less at the other levels, so each level has one of them.
AT_OTHER_LEVELS = (("g++", 1, "dwarf4"), ("clang++", 0, "dwarf5"), ("clang++", 3, "dwarf5"))


def _is_quick(compiler: str, level: int, debug: str, reader: str) -> bool:
    """Each level, each kind of debug information and each reader once; the rest is for those who have the time."""
    if level != 2 or debug == "dwarf4":
        return reader == "llvm" and (compiler, level, debug) in AT_OTHER_LEVELS
    return reader == "llvm" or debug in ("dwarf5", "split")


BUILDS = [
    pytest.param(
        compiler,
        f"-O{level}",
        debug,
        reader,
        marks=[] if _is_quick(compiler, level, debug, reader) else pytest.mark.full,
    )
    for compiler in ("g++", "clang++")
    for level in range(4)
    for debug in KINDS
    for reader in ("llvm", "addr2line")
    if (level, debug) != (0, "stripped")  # a wrapper looks like a user there
]
# Functions of a case in which the place may be instead.
INLINED = {"method": ("add",), "wrapped": ("Holding", "~Holding")}
RELEASES = {"pthread_mutex_unlock", "pthread_rwlock_unlock"}


@cache
def whose(folder: Path) -> Path:
    library = folder / "whose.so"
    subprocess.run(["gcc", "-O0", "-fPIC", "-shared", "-o", library, HERE / "whose.c", "-ldl"], check=True)
    return library


@cache
def build(folder: Path, compiler: str, level: str, debug: str) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"skipped: no {compiler}")
    where = folder / f"{compiler}{level}{debug}"
    if debug == "lost":
        program = build(folder, compiler, level, "split")
        lost = program.with_name("lost")
        lost.write_bytes(program.read_bytes().replace(b".dwo\0", b".gon\0"))  # where its part is
        lost.chmod(0o755)
        return lost
    if debug in MADE_OF_DWARF5:
        program = build(folder, compiler, level, "dwarf5")
        made = program.with_name(debug)
        subprocess.run([*MADE_OF_DWARF5[debug], program, made], check=True)
        return made
    where.mkdir()
    words = [compiler, "-std=c++17", "-pthread", level, *DEBUG[debug], HERE / "place.cpp", "-o", "place"]
    subprocess.run(words, cwd=where, check=True)
    return where / "place"


def calls(program: Path, library: Path) -> dict[str, list[tuple[str, list[tuple[str, int]]]]]:
    """The lock functions that each case called, with the stacks of the calls."""
    environment = os.environ | {"LD_PRELOAD": str(library)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    found = defaultdict(list)
    for line in done.stdout.splitlines():
        function, case, *frames = line.split()
        stack = [(path, int(address, 16)) for path, address in (one.rsplit(":", 1) for one in frames)]
        found[case].append((function, stack))
    return found


def named(stacks: list[list[tuple[str, int]]]) -> list:
    """The site of each stack."""
    paths = sorted({path for stack in stacks for path, _ in stack})
    frames = [[[paths.index(path), address] for path, address in stack] for stack in stacks]
    process = {
        "modules": [{"path": path, "build_id": ""} for path in paths],
        "stacks": [{"frames": one} for one in frames],
        "locks": [],
    }
    names = Names([process])
    return [site(names.stack(process, one)) for one in frames]


def marked(case: str) -> int:
    return next(n for n, line in enumerate(SOURCE, 1) if line.endswith(f"// take {case}"))


def lines_of(case: str) -> range:
    """From the function's first line to its last."""
    at = marked(case)
    begin = next(n for n in range(at, 0, -1) if re.match(r"APART|  void |  explicit ", SOURCE[n - 1]))
    end = next(n for n in range(at, len(SOURCE)) if SOURCE[n - 1] in ("}", "  }", " private:"))
    return range(begin, end + 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("places")


@pytest.mark.parametrize(("compiler", "level", "debug", "reader"), BUILDS)
def test_the_place_is_the_user_s(compiler, level, debug, reader, folder, monkeypatch):
    if reader == "llvm" and symbolizer.llvm_symbolizer() is None:
        pytest.skip("skipped: no llvm-symbolizer")
    if reader == "addr2line":
        monkeypatch.setattr(symbolizer, "llvm_symbolizer", lambda: None)
    program = build(folder, compiler, level, debug)
    cases = calls(program, whose(folder))
    assert len(cases) == 17
    if debug == "stripped":
        del cases["scoped"], cases["any"]  # the library's functions are the program's like others
    made = [(case, function, stack) for case, some in cases.items() for function, stack in some]
    wrong = []
    for (case, function, _), place in zip(made, named([stack for *_, stack in made]), strict=True):
        # The condition's own mutex is taken a line above it.
        is_call = function not in RELEASES and (case not in ("condition", "any") or "cond" in function)
        if not _is_right(place, case, is_call, debug, reader, program):
            wrong.append(f"{case}: {function} in {place}")
    assert not wrong, "\n".join(wrong)


def _is_right(place, case, is_call, debug, reader, program) -> bool:
    functions = (case, *INLINED.get(case, ()))
    if debug == "stripped":
        where = re.fullmatch(r"stripped\+0x([0-9a-f]+)", place.name)
        symbol = where and symbolizer.Symbols(str(program.with_name("place")), "STT_FUNC").at(int(where[1], 16))
        return bool(symbol) and any(f"{len(one)}{one}" in symbol[1] for one in functions)
    may_lack_lines = debug in ("none", "lost") or (debug, reader) == ("split", "addr2line")
    if may_lack_lines and not place.line:
        return re.search(rf"\b({'|'.join(functions)})\b", place.name) is not None
    file, _, number = place.line.partition(":")
    return file == "place.cpp" and (int(number) == marked(case) if is_call else int(number) in lines_of(case))
