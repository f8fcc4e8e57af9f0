"""`lockswap policy check`, with the library as it was built."""

import json

import pytest

from harness_support import ROOT, Lockswap, compile_c, one_line_error
from lockswap.policy import check

LOCK = "ba"

built = all((ROOT / "build" / file).exists() for file in ("liblockswap.so", "bin/lockswap-stats-on-signal.so"))
pytestmark = pytest.mark.skipif(not built, reason="build/liblockswap.so is not built")


@pytest.fixture
def lockswap():
    return Lockswap(ROOT)


SOURCE = """
#include <pthread.h>
#include <stdlib.h>
static pthread_rwlock_t ready = PTHREAD_RWLOCK_INITIALIZER;
__attribute__((noinline)) static void make(pthread_rwlock_t* l) { if (pthread_rwlock_init(l, 0)) abort(); }
int main(int argc, char** argv) {
  pthread_rwlock_t made[3];
  for (int i = 0; i < 3; ++i) make(&made[i]);
  pthread_rwlock_wrlock(&ready);
  pthread_rwlock_unlock(&ready);
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture
def program(tmp_path):
    source, target = tmp_path / "policed.c", tmp_path / "policed"
    source.write_text(SOURCE)
    compile_c(source, target, "-pthread")
    return target


def test_what_each_rule_matched(lockswap, program, tmp_path):
    rules = tmp_path / "rules"
    rules.write_text(f"site=make rwlock={LOCK}\nmodule=nothing.so rwlock={LOCK}\n")
    done = lockswap("policy", "check", str(rules), "--", str(program))
    assert done.returncode == 0 and done.stdout == ""
    assert f"line 1: site=make rwlock={LOCK}: 3 rwlocks" in done.stderr
    assert f"line 2: module=nothing.so rwlock={LOCK}: nothing" in done.stderr
    assert "matched by no rule: glibc's: 1 rwlock" in done.stderr


def test_one_that_comes_with_lockswap_is_checked_by_its_name(lockswap, program):
    """As `lockswap compare --policy` takes it."""
    done = lockswap("policy", "check", "libcrypto", "--", str(program))
    assert done.returncode == 0 and "matched by no rule: glibc's: 4 rwlocks" in done.stderr


def test_an_address_of_the_report_is_a_rule(lockswap, program):
    done = lockswap("policy", "check", "--json", f"symbol=ready rwlock={LOCK}", "--", str(program), "7")
    assert done.returncode == 7
    (process,) = json.loads(done.stderr)
    assert done.stderr.endswith("]\n")
    (place,) = (place for place in process["policy"]["places"] if place["rule"] is None)
    assert place["objects"] == 3
    rule = f"module={program.name} site={place['address']:#x} rwlock={LOCK}"
    done = lockswap("policy", "check", rule, "--", str(program))
    assert f"{rule}: 3 rwlocks" in done.stderr


def test_a_wrong_rule(lockswap, program):
    done = lockswap("policy", "check", "modul=x rwlock=ba", "--", str(program))
    assert "'modul=x'" in one_line_error(done)


def test_text_names_places_once():
    place = {"rule": 0, "kind": "rwlock", "objects": 2, "file": "", "address": 0}
    policy = {
        "rules": [{"line": 1, "rule": "rwlock=x", "rwlocks": 2, "mutexes": 0}],
        "rest": {"rwlocks": 0, "mutexes": 0},
        "places": [place],
        "other_places": 4,
    }
    text = check.as_text([{"program": "p", "pid": 1, "policy": policy}])
    assert "line 1: rwlock=x: 2 rwlocks" in text and "a call site in no file" in text
    assert "4 more objects" in text and "matched by no rule: glibc's: nothing" in text
