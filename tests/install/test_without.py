"""A build with LOCKSWAP_WITHOUT: what it leaves out and says of it, and whether what is left still works."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
FAMILIES = "bravo,cohort,gcr,range"
JOBS = str(os.cpu_count())
pytestmark = pytest.mark.full


def cmake(folder: Path, *words: str) -> subprocess.CompletedProcess:
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, "-DLOCKSWAP_APPS=OFF", *words]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def reduced(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("reduced")
    configured = cmake(folder, f"-DLOCKSWAP_WITHOUT={FAMILIES}")
    assert configured.returncode == 0, configured.stderr
    targets = ["--target", "lockswap", "lockswap_api", "lockswap-registry"]
    built = subprocess.run(["cmake", "--build", folder, "-j", JOBS, *targets], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-2000:]
    return folder


def registry(build: Path) -> dict:
    return json.loads(subprocess.check_output([build / "bin/lockswap-registry"], text=True))


def names(build: Path) -> set[str]:
    listed = registry(build)
    return {lock["name"] for kind in ("rwlocks", "mutexes", "range_locks") for lock in listed[kind]}


def run(build: Path, **variables: str) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {f"LOCKSWAP_{name}": value for name, value in variables.items()}
    env["LD_PRELOAD"] = str(build / "liblockswap.so")
    return subprocess.run(["/bin/true"], env=env, capture_output=True, text=True)


def test_what_is_left_out_is_the_families(reduced):
    missing = names(BUILD) - names(reduced)
    said = registry(reduced)["left_out"]
    assert missing <= set(said)
    assert {"bravo-ba", "cohort", "gcr-mcs", "list-rw"} <= missing
    assert not any(word in name.split("-") for word in ("bravo", "cohort", "gcr") for name in names(reduced))
    assert registry(BUILD)["left_out"] == []


def test_no_code_of_it_is_left(reduced):
    symbols = subprocess.check_output(["nm", "-C", reduced / "liblockswap.so"], text=True)
    for gone in ("Bravo<", "CohortRw", "Lanes<", "RangeList<"):
        assert gone not in symbols, gone
    assert "PfT" in symbols


@pytest.mark.parametrize(
    ("variable", "name"), [("RWLOCK", "bravo-ba"), ("MUTEX", "gcr-mcs"), ("RANGE", "list-ex"), ("RWLOCK", "Cohort")]
)
def test_its_name_gets_one_line(reduced, variable, name):
    done = run(reduced, **{variable: name})
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert f"LOCKSWAP_{variable}={name} was left out of this build (LOCKSWAP_WITHOUT); " in done.stderr


def test_auto_is_the_best_that_is_there_and_says_so(reduced):
    done = run(reduced, RWLOCK="auto", MUTEX="auto", VERBOSE="1")
    assert done.returncode == 0 and "eventual" in done.stderr
    (auto,) = (lock for lock in registry(reduced)["rwlocks"] if lock["name"] == "auto")
    assert "bravo-eventual was left out of this build" in auto["summary"]
    assert auto["summary"].endswith("here eventual")


def compile_with_ranges(source: Path, program: Path, reduced: Path) -> Path:
    words = ["cc", "-o", program, source, f"-I{ROOT / 'include'}", f"-L{reduced}"]
    subprocess.run([*words, "-llockswap_api", "-pthread", f"-Wl,-rpath,{reduced}"], check=True)
    return program


def test_the_api_still_has_range_locks(reduced, tmp_path):
    program = compile_with_ranges(ROOT / "tests/install/ranges_of_segments.c", tmp_path / "ranges", reduced)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "20000 sections, a second range: EDEADLK\n"), done.stdout + done.stderr


def test_the_example_that_needs_two_ranges_at_once_fails_and_does_not_hang(reduced, tmp_path):
    program = compile_with_ranges(ROOT / "examples/range_lock.c", tmp_path / "range_lock", reduced)
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout.endswith(" wrong\n"), done.stdout + done.stderr


def test_what_is_left_conforms(reduced):
    listed = registry(reduced)
    conformance = BUILD / "tests/conformance"
    for kind, rows in (("rwlock", listed["rwlocks"]), ("mutex", listed["mutexes"])):
        for name in (row["name"] for row in rows if not row["passes_through"] and not row["chosen"]):
            command = [conformance / f"{kind}_conformance", "--preload", reduced / "liblockswap.so", f"--{kind}", name]
            done = subprocess.run([*command, "--wait", "park", "--sample"], capture_output=True, text=True)
            assert done.returncode == 0, f"{kind} {name}: {done.stdout[-2000:]}{done.stderr[-500:]}"


@pytest.mark.parametrize(
    ("families", "why"),
    [
        ("bravo,coohrt", "no lock has the word 'coohrt' in its name"),
        ("bravo,", "no lock has the word ''"),
        ("range,pnova,rwlock", "leaves no line of range_list.def"),
    ],
)
def test_a_word_that_leaves_nothing_out_or_everything_is_refused(tmp_path, families, why):
    done = cmake(tmp_path, f"-DLOCKSWAP_WITHOUT={families}")
    assert done.returncode != 0
    assert f"LOCKSWAP_WITHOUT={families}" in done.stderr and why in " ".join(done.stderr.split())
