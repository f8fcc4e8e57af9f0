"""`LOCKSWAP_DELAY`: which holds are delayed, where the delay stands, and what is said of a wrong value."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KNOWN_COST = ROOT / "build/tests/profile/profile_known_cost"


def run(delay: str, what: str = "count", program: Path = KNOWN_COST, **more: str) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"LD_PRELOAD": str(ROOT / "build/liblockswap.so"), "LOCKSWAP_VERBOSE": "1", "LOCKSWAP_DELAY": delay} | more
    return subprocess.run([program, what], capture_output=True, text=True, env=env)


# known_cost.c says how many holds there are.
@pytest.mark.parametrize(
    ("delay", "delays", "where", "objects"),
    [
        ("make_lock:+5us", 12, "5000 ns in", 1),
        ("make_lock mode=read:+5us", 7, "5000 ns in", 1),
        ("site=make_lock mode=write:after+700ns", 5, "700 ns after", 1),
        ("symbol=busy:+1us", 3, "1000 ns in", 1),
        ("module=profile_known_cost:+1us", 15, "1000 ns in", 2),
        ("module=profile_*_cost kind=mutex:+1us", 3, "1000 ns in", 1),
        ("module=profile_known_cost kind=rwlock:+0us", 12, "0 ns in", 1),
        ("module=libc.so.6:+1us", 0, "1000 ns in", 0),
    ],
)
def test_the_chosen_holds_are_delayed(delay, delays, where, objects):
    ran = run(delay)
    assert ran.returncode == 0, ran.stderr
    said = f"LOCKSWAP_DELAY: {delays} delays of {where} holds, of {objects} objects"
    assert said in ran.stderr.splitlines()[-1], ran.stderr


def test_it_goes_with_locks_of_ours():
    ran = run("make_lock mode=read:+1us", LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto")
    assert "LOCKSWAP_DELAY: 7 delays" in ran.stderr


FORKS = """
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
pthread_mutex_t delayed = PTHREAD_MUTEX_INITIALIZER;
static void use(int times) {
  for (; times != 0; --times) {
    pthread_mutex_lock(&delayed);
    pthread_mutex_unlock(&delayed);
  }
}
int main(void) {
  use(3);
  if (fork() == 0) {
    use(2);
    exit(0);
  }
  wait(NULL);
  return 0;
}
"""


def test_a_child_counts_its_own_delays(tmp_path):
    source, program = tmp_path / "forks.c", tmp_path / "forks"
    source.write_text(FORKS)
    subprocess.run(["gcc", source, "-o", program, "-pthread"], check=True)
    ran = run("symbol=delayed:+0us", program=program)
    said = [line.partition("LOCKSWAP_DELAY: ")[2].partition(" of")[0] for line in ran.stderr.splitlines()]
    assert [one for one in said if one] == ["2 delays", "3 delays"], ran.stderr


def test_a_delay_stands_in_the_hold_or_behind_it():
    # The program says how soon after the call of unlock another thread has the lock.
    # The delay goes by the processor's counter, whose speed is measured; so it may be a little shorter.
    assert int(run("symbol=critical:+100000us", "where").stdout) >= 99_000
    assert int(run("symbol=critical:after+100000us", "where").stdout) < 99_000


@pytest.mark.parametrize(
    ("delay", "why"),
    [
        ("foo", "is not a delay"),
        ("kind=mutex:+1us", "is not a delay"),
        ("foo:+1ms", "no time after"),
        ("foo:5us", "no time after"),
        ("foo:+us", "no time after"),
        ("foo:+1000001us", "no time after"),
        ("x=1:+1us", "wrong word: 'x=1'"),
        ("site=0x12:+1us", "add module=NAME"),
        ("site=0x1g module=m:+1us", "is not an address"),
        ("a b:+1us", "two functions"),
        ("symbol=a symbol=b:+1us", "given twice"),
        ("kind=lock a:+1us", "an unknown kind"),
        ("mode=all a:+1us", "an unknown mode"),
        ("kind=mutex mode=read a:+1us", "drop kind=mutex"),
    ],
)
def test_a_wrong_value_stops_the_program(delay, why):
    ran = run(delay)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1 and why in ran.stderr, ran.stderr


@pytest.mark.parametrize("other", ["LOCKSWAP_POLICY", "LOCKSWAP_PROFILE"])
def test_what_it_does_not_go_with(other, tmp_path):
    ran = run("foo:+1us", **{other: "rwlock=auto" if other == "LOCKSWAP_POLICY" else str(tmp_path)})
    assert ran.returncode == 2 and f"can't be combined with {other}" in ran.stderr
