"""What the recording adds to a lock that is free, in instructions: callgrind counts, so it is the same on every run,
however busy the machine is."""

import re
import shutil
import subprocess

import pytest
from test_profile import BUILD, PRELOAD, environment

UNCONTENDED = BUILD / "apps/uncontended"
pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")

# For an acquisition and its release, beyond what glibc's own locks take in a program that is not recorded.
# The program's own calls are made, so this is what the recording takes itself: a look at the lock, a record, a count.
MOST = {"read": 104, "write": 106, "mutex": 106}


def collected(kind: str, pairs: int, **variables: str) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", UNCONTENDED, kind, str(pairs), "1"]
    env = environment(**variables)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1])


def of_a_pair(kind: str, **variables: str) -> float:
    """What does not depend on the pairs cancels out; so do the first ones, of which more holds are timed. The program
    adds a tenth to warm up."""
    return (collected(kind, 60_000, **variables) - collected(kind, 10_000, **variables)) / 55_000


@pytest.mark.parametrize("kind", MOST)
def test_a_free_lock(kind, tmp_path):
    plain = of_a_pair(kind)
    recorded = of_a_pair(kind, LD_PRELOAD=str(PRELOAD), LOCKSWAP_PROFILE=str(tmp_path))
    print(f"{kind}: {recorded - plain:.1f} more than {plain:.1f}")
    assert 0 < recorded - plain <= MOST[kind]
