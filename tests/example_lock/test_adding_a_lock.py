"""CONTRIBUTING.md to the letter: a stranger begins a lock in a copy of the tree, and it is there: in the registry, in
exploration with its planted faults, in stress and in conformance, where it passes. A mistake has a short error.

Only what the line changes is compiled; all other objects are those of the build."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"
sys.path.insert(0, str(ROOT / "tests"))
from git_files import git_files  # noqa: E402


def output(*command: object, **variables: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=clean | variables)
    assert ran.returncode == 0, f"{command}: {(ran.stdout + ran.stderr)[-3000:]}"
    return ran.stdout


class Copy:
    """A copy of the tree with a build folder of its own, in which unchanged objects are the build's."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.build = self.root / "build"
        for name in git_files(untracked=False):
            if name.startswith("results/") or not (ROOT / name).is_file():
                continue
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.root / name)

    def begin(self, name: str, *words: str) -> None:
        """As scripts/new_lock begins it."""
        said = output(self.root / "scripts/new_lock", name, *words)
        assert "./run.sh try" in said

    def add(self, header: Path, folder: str, listed: str, line: str) -> None:
        """By hand."""
        shutil.copy(header, self.root / "src" / folder / header.name)
        with (self.root / "src/registry" / listed).open("a") as file:
            file.write(line + "\n")

    def configure(self) -> None:
        cache = (BUILD / "CMakeCache.txt").read_text().splitlines()
        kept = ("CMAKE_BUILD_TYPE:", "CMAKE_CXX_COMPILER:", "CMAKE_C_COMPILER:")
        output(
            "cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", *(f"-D{c}" for c in cache if c.startswith(kept))
        )

    def make(self, target: str) -> None:
        """Compiles what differs from the tree, and links `target`."""
        *compiled, linked = output("ninja", "-C", self.build, "-t", "commands", target).splitlines()
        work = []
        for line in compiled:
            words = shlex.split(line)
            if "-c" not in words:
                continue  # another library's link
            source, target_object = Path(words[words.index("-c") + 1]), Path(words[words.index("-o") + 1])
            if (self.build / target_object).exists():
                continue
            (self.build / target_object).parent.mkdir(parents=True, exist_ok=True)
            if self._is_the_trees(source) and (BUILD / target_object).exists():
                (self.build / target_object).symlink_to(BUILD / target_object)
            elif "-Winvalid-pch" in words:
                work.append(words)  # with other options it couldn't use the tree's precompiled headers
            else:
                work.append([*words, "-O0", "-g0"])  # it takes longer to compile than to run
        with ThreadPoolExecutor(2) as pool:
            for ran in pool.map(self._run, work):
                assert ran.returncode == 0, ran.stderr[-3000:]
        ran = subprocess.run(linked, shell=True, cwd=self.build, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-3000:]

    def _run(self, words: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(words, cwd=self.build, capture_output=True, text=True)

    def _is_the_trees(self, source: Path) -> bool:
        """Whether the build has the same object: of the same text, which does not include the changed lists; and so of
        the sources that CMake joined to one."""
        there = ROOT / source.resolve().relative_to(self.root)
        text = source.read_text()
        if not there.exists() or there.read_text() != text.replace(str(self.root), str(ROOT)):
            return False
        joined = re.findall(r'^#include "(/.+)"$', text, re.MULTILINE)
        return not any(name in text for name in self._changed_lists()) and all(
            self._is_the_trees(Path(part)) for part in joined
        )

    def _changed_lists(self) -> list[str]:
        """rw_list: of rw_list.def, and of what is written from it."""
        lists = (file.relative_to(self.root) for file in (self.root / "src/registry").glob("*_list.def"))
        return [file.stem for file in lists if (self.root / file).read_text() != (ROOT / file).read_text()]

    def tests(self) -> set[str]:
        return {
            line.split()[-1] for line in output("ctest", "--test-dir", self.build, "-N").splitlines() if "#" in line
        }


def copy_in(folder: Path) -> Copy:
    if not (BUILD / "liblockswap.so").exists():
        pytest.skip("nothing is built; ./run.sh test builds first")
    return Copy(folder / "tree")


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return copy_in(tmp_path)


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Copy:
    """With a new lock of each kind: what is made of the lists is made once for both."""
    copy = copy_in(tmp_path_factory.mktemp("grown"))
    copy.begin("central")
    copy.begin("my-first", "--mutex")
    copy.configure()
    return copy


def rows(copy: Copy, kind: str) -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(output(copy.build / "bin/lockswap-registry"))[kind]}


def explore(copy: Copy, *names: str) -> None:
    """Some executions of each case; ./run.sh try has all of them."""
    out = output(copy.build / "bin/lockswap-explore", "run", "--quick", "--executions", "500", *names)
    assert " 0 failed" in out, out[-3000:]


def test_a_reader_writer_lock(grown):
    copy = grown
    assert {"conformance/central/park", "conformance/central/spin-or-yield", "stress/central/park"} <= copy.tests()

    copy.make("bin/lockswap-registry")
    found = rows(copy, "rwlocks")
    assert found["central"]["summary"] == "a count of readers and a bit for a writer in one word"
    for bias in ("bravo-", "bravo-asym-"):
        assert found[f"{bias}central"]["under"] == "central" and found[f"{bias}central"]["biased"]
    assert "central" in found["bravo-central"]["summary"]

    copy.make("bin/lockswap-explore")
    output("python3", copy.root / "tests/explore/coverage.py", copy.build / "bin")
    explore(copy, "core/central/", "central/", "bravo-asym-central/")

    # What `./run.sh try` has of the registry: a list of that lock alone.
    copy.make("try/rw-central/bin/lockswap-registry")
    alone = json.loads(output(copy.build / "try/rw-central/bin/lockswap-registry"))["rwlocks"]
    assert "central" in {row["name"] for row in alone}

    # The example's planted faults, in the explorer of that lock alone.
    shutil.copy(HERE / "central.toml", copy.root / "tests/explore/faults/rw-central.toml")
    copy.make("bin/lockswap-explore-rw-central")
    said = output("python3", copy.root / "tests/explore/structural_faults.py", "--lock", "rw/central", copy.build)
    assert said.count("\nfound ") == 5 and " 0 not as they must be" in said, said

    copy.make("tests/unit/rw_stress_tsan")
    said = output(copy.build / "tests/unit/rw_stress_tsan", "20")
    for name in ("central", "bravo-central"):
        assert said.count(f"ok   {name} ") == 3, said

    copy.make("liblockswap.so")
    conformance = BUILD / "tests/conformance/rwlock_conformance"
    output(conformance, "--preload", copy.build / "liblockswap.so", "--rwlock", "central", "--wait", "park", "--sample")


def test_a_mutex(grown):
    copy = grown
    assert {"conformance/mutex/my-first/park", "conformance/mutex/my-first/spin-or-yield"} <= copy.tests()

    copy.make("bin/lockswap-registry")
    assert "my-first" in rows(copy, "mutexes")

    copy.make("bin/lockswap-explore")
    explore(copy, "mutex/my-first/", "cond/my-first/")

    copy.make("tests/unit/mutex_stress_tsan")
    said = output(copy.build / "tests/unit/mutex_stress_tsan", "20")
    assert said.count("my-first/") == 3, said

    copy.make("liblockswap.so")
    conformance = BUILD / "tests/conformance/mutex_conformance"
    output(conformance, "--preload", copy.build / "liblockswap.so", "--mutex", "my-first", "--wait", "park", "--sample")


def test_a_line_that_is_none_stops_the_build(copy):
    copy.add(HERE / "central.h", "locks/rw", "rw_list.def", 'RW_LOCK("central", Central)')
    ran = subprocess.run(["cmake", "-S", copy.root, "-B", copy.build, "-G", "Ninja"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "this is no line of the list" in ran.stderr


MADE_OF_LISTS = ("lockswap-registry", "lockswap-explore", "rw_stress_tsan", "mutex_stress_tsan", "range_stress_tsan")
# A shipped header of each kind, and members that it loses: of all locks, of its kind, and of a part of its concept.
MEMBERS = {
    "locks/rw/pf-t.h": ("rw_list.def", "pf-t", ("kClaims", "kInfo", "write_lock_until", "read_unlock")),
    "locks/mutex/clh.h": ("mutex_list.def", "clh", ("kInfo", "lock_until", "idle")),
    "range/list.h": ("range_list.def", "list-ex", ("kInfo", "kHoldsMany", "is_shared")),
}


def test_a_missing_member_is_one_short_error(copy):
    """In the build of all that is made of the lists; the further members of a kind only by what checks the lists."""
    copy.configure()
    build = ["cmake", "--build", copy.build, "-j", "2", "--target"]
    check = output("ninja", "-C", copy.build, "-t", "commands", "locks_checked").splitlines()[0]
    assert "lock_checks.cpp" in check
    # What stands beside the locks is the tree's, so that the lines are those of the error.
    subprocess.run([*build, "measured"], check=True, capture_output=True)
    for header, (listed, name, members) in MEMBERS.items():
        file = copy.root / "src" / header
        whole = file.read_text()
        for member in members:
            file.write_text(re.sub(rf"\b{member}\b", f"{member}_gone", whole))
            command = [*build, *MADE_OF_LISTS] if member == members[0] else [*shlex.split(check), "-fsyntax-only"]
            ran = subprocess.run(
                command, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}, cwd=copy.build
            )
            said = ran.stdout + ran.stderr
            assert ran.returncode != 0
            assert said.count("error:") == 1, said
            assert re.search(rf"{listed}:\d+:\d+: error: static assertion failed: {name} ", said), said
            explained = said.split("error:")[1]
            assert re.search(rf"\b{member}\b", explained), said
            assert len(said.splitlines()) <= 15, said
        file.write_text(whole)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["ba"], "there is a lock 'ba' already"),
        (["Central"], "'Central' is no name for a lock"),
        (["bravo-mine"], "names that begin with bravo-"),
        (["latch"], "has a Latch already"),
        (["mcs", "--mutex"], "there is a lock 'mcs' already"),
    ],
)
def test_names_that_are_refused(words, problem):
    ran = subprocess.run([ROOT / "scripts/new_lock", *words], capture_output=True, text=True)
    assert ran.returncode == 2
    assert problem in ran.stderr
