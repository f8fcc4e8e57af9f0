"""CONTRIBUTING.md to the letter: a stranger adds a header and a line to a copy of the tree, and the lock is there: in
the registry, in exploration, in stress and in conformance, where it passes.

Only what the line changes is compiled; all other objects are those of the build."""

import json
import os
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"


def output(*command: object, **variables: str) -> str:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=clean | variables)
    assert ran.returncode == 0, f"{command}: {(ran.stdout + ran.stderr)[-3000:]}"
    return ran.stdout


class Copy:
    """A copy of the tree with a build folder of its own, in which unchanged objects are the build's."""

    def __init__(self, root: Path) -> None:
        self.root, self.build = root, root / "build"
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in filter(None, listed.split("\0")):
            if name.startswith("results/") or not (ROOT / name).is_file():
                continue
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)

    def add(self, header: Path, folder: str, listed: str, line: str) -> None:
        """Both steps of the guide."""
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
            if self._is_the_trees(source):
                (self.build / target_object).symlink_to(BUILD / target_object)
            else:
                work.append([w for w in words if w not in ("-O2", "-g1")] + ["-O1", "-g0"])
        with ThreadPoolExecutor(2) as pool:
            for ran in pool.map(self._run, work):
                assert ran.returncode == 0, ran.stderr[-3000:]
        ran = subprocess.run(linked, shell=True, cwd=self.build, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-3000:]

    def _run(self, words: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(words, cwd=self.build, capture_output=True, text=True)

    def _is_the_trees(self, source: Path) -> bool:
        """Whether the build has the same object: of the same text, which does not include the changed lists."""
        there = ROOT / source.resolve().relative_to(self.root.resolve())
        text = source.read_text()
        return there.exists() and there.read_text() == text and "_list.def" not in text and "_list_headers" not in text

    def tests(self) -> set[str]:
        return {
            line.split()[-1] for line in output("ctest", "--test-dir", self.build, "-N").splitlines() if "#" in line
        }


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    if not (BUILD / "liblockswap.so").exists():
        pytest.skip("nothing is built; ./run.sh test builds first")
    return Copy(tmp_path / "tree")


def rows(copy: Copy, kind: str) -> dict[str, dict]:
    return {row["name"]: row for row in json.loads(output(copy.build / "bin/lockswap-registry"))[kind]}


def explore(copy: Copy, *names: str) -> None:
    out = output(copy.build / "bin/lockswap-explore", "run", "--quick", *names)
    assert " 0 failed" in out, out[-3000:]


def test_a_reader_writer_lock(copy):
    line = 'RW_LOCK("central", Central, "locks/rw/central.h", UNDER_BRAVO)'
    copy.add(HERE / "central.h", "locks/rw", "rw_list.def", line)
    copy.configure()
    assert {"conformance/central/park", "conformance/central/spin-or-yield", "stress/central/park"} <= copy.tests()

    copy.make("bin/lockswap-registry")
    found = rows(copy, "rwlocks")
    assert found["central"]["aliases"] == ["textbook"]
    for bias in ("bravo-", "bravo-asym-"):
        assert found[f"{bias}central"]["under"] == "central" and found[f"{bias}central"]["biased"]
    assert "central" in found["bravo-central"]["summary"]

    copy.make("bin/lockswap-explore")
    output("python3", copy.root / "tests/explore/coverage.py", copy.build / "bin")
    explore(copy, "core/central/", "central/", "bravo-asym-central/")

    copy.make("tests/unit/rw_stress_tsan")
    said = output(copy.build / "tests/unit/rw_stress_tsan", "20")
    for name in ("central", "bravo-central"):
        assert said.count(f"ok   {name} ") == 3, said

    copy.make("liblockswap.so")
    conformance = BUILD / "tests/conformance/rwlock_conformance"
    output(conformance, "--preload", copy.build / "liblockswap.so", "--rwlock", "central", "--wait", "park")


def test_a_mutex(copy):
    line = 'MUTEX("test-and-set", TestAndSet, "locks/mutex/test-and-set.h", NO_WORDS)'
    copy.add(HERE / "test-and-set.h", "locks/mutex", "mutex_list.def", line)
    copy.configure()
    assert {"conformance/mutex/test-and-set/park", "conformance/mutex/test-and-set/spin-or-yield"} <= copy.tests()

    copy.make("bin/lockswap-registry")
    assert "test-and-set" in rows(copy, "mutexes")

    copy.make("bin/lockswap-explore")
    output("python3", copy.root / "tests/explore/coverage.py", copy.build / "bin")
    explore(copy, "mutex/test-and-set/", "cond/test-and-set/")

    copy.make("tests/unit/mutex_stress_tsan")
    said = output(copy.build / "tests/unit/mutex_stress_tsan", "20")
    assert said.count("test-and-set/") == 3, said

    copy.make("liblockswap.so")
    conformance = BUILD / "tests/conformance/mutex_conformance"
    output(conformance, "--preload", copy.build / "liblockswap.so", "--mutex", "test-and-set", "--wait", "park")


def test_a_line_that_is_none_stops_the_build(copy):
    copy.add(HERE / "central.h", "locks/rw", "rw_list.def", 'RW_LOCK("central", Central)')
    ran = subprocess.run(["cmake", "-S", copy.root, "-B", copy.build, "-G", "Ninja"], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "this is no line of the list" in ran.stderr
