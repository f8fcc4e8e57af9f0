"""`./run.sh try`: which lock a name means, and which of the explorer's cases are that lock's."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import try_lock  # noqa: E402

LISTS = {
    "rw": """// RW_LOCK("no", No, "no.h", NO_WORDS)
RW_LOCK("pthread", Pthread, "locks/rw/pthread.h", PASSED_THROUGH | UNDER_BRAVO)
RW_LOCK("ba", Ba, "locks/rw/ba.h", UNDER_BRAVO | COMPARED)
RW_LOCK("cohort", CohortRw, "locks/rw/cohort.h", NO_WORDS)
RW_LOCK("cohort-n", CohortRwNeutral, "locks/rw/cohort.h", NO_WORDS)
""",
    "mutex": """MUTEX("mcs", Mcs, "locks/mutex/mcs.h", NO_WORDS)
MUTEX_NAME("ba", Mcs, "locks/mutex/mcs.h", COMPARED, kBaAsMutex)
MUTEX("cohort", CohortMutex, "locks/mutex/cohort.h", COMPARED)
""",
}


@pytest.fixture
def locks(tmp_path: Path) -> list[try_lock.Lock]:
    for kind, text in LISTS.items():
        (tmp_path / f"{kind}_list.def").write_text(text)
    return try_lock.all_locks(tmp_path)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ba", ["rw/ba"]),  # the mutex of that name is another name for mcs
        ("bravo-ba", ["rw/bravo-ba"]),
        ("mcs", ["mutex/mcs"]),
        ("asym-ba", ["rw/bravo-asym-ba"]),
        ("cohort", ["rw/cohort", "mutex/cohort"]),
        ("mutex/cohort", ["mutex/cohort"]),
        ("coh", ["rw/cohort", "rw/cohort-n", "mutex/cohort"]),
        ("pthread", ["rw/bravo-pthread", "rw/bravo-asym-pthread"]),  # alone it is glibc's
        ("no", []),
    ],
)
def test_names(locks, text, meant):
    assert [str(lock) for lock in try_lock.fitting(text, locks)] == meant


def test_the_cases_of_a_lock_are_its_own():
    cases = ["core/ba/park/1w2r", "ba/spin/1w2r", "ba/park-zeroed/1w2r", "bravo-ba/park/1w2r", "gcr-ba/park/1w2r"]
    cases += ["core/mutex/mcs/spin/2w", "cond/mcs/park/signal", "mutex/gcr-mcs/spin/2w", "core/ba/spin-2^24/2w"]

    def own(kind: str, name: str) -> list[str]:
        return [case for case in cases if try_lock.Lock(kind, name, name).case_pattern().match(case)]

    assert own("rw", "ba") == ["core/ba/park/1w2r", "ba/spin/1w2r", "ba/park-zeroed/1w2r", "core/ba/spin-2^24/2w"]
    assert own("rw", "bravo-ba") == ["bravo-ba/park/1w2r"]
    assert own("mutex", "mcs") == ["core/mutex/mcs/spin/2w", "cond/mcs/park/signal"]


@pytest.mark.parametrize("text", ["cohort", "nobodys"])
def test_a_name_that_means_no_one_lock_builds_nothing(tmp_path, text):
    ran = subprocess.run([sys.executable, HERE / "try_lock.py", tmp_path, text], capture_output=True, text=True)
    assert ran.returncode == 2
    assert "rw/cohort" in ran.stderr
    assert "mutex/cohort" in ran.stderr
    assert "building" not in ran.stdout


@pytest.mark.parametrize("kind", ["rw", "mutex"])
def test_every_lock_is_explored_stressed_and_held_to_its_contract(kind):
    works = try_lock.works(Path("build"), try_lock.Lock(kind, "cohort", "cohort"), ["first", "second", "third"])
    assert {work.what.split(",")[0] for work in works} == {"conformance", "exploration", "stress"}
    explored = [word for work in works for word in work.command if word.startswith("=")]
    assert sorted(explored) == ["=first", "=second", "=third"]
