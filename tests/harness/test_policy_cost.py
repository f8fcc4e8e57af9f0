"""What a policy costs the objects that it leaves to glibc, in instructions: callgrind counts, so it is the same on
every run, however busy the machine is."""

import shutil
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
sys.path.insert(0, str(ROOT / "tests/apps"))

from instructions import instructions  # noqa: E402

pytestmark = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")

# The benchmark's lock is in no variable of this name, so the rule meets none.
RULES = {"read": "rwlock=ba", "write": "rwlock=ba", "mutex": "mutex=mcs"}
OTHER_KIND = {"read": "mutex=mcs", "write": "mutex=mcs", "mutex": "rwlock=ba"}
# Four in each of the two calls: docs/diagnose.md.
MOST = 8


def of_a_pair(mode: str, **variables: str) -> float:
    return instructions(BUILD / "liblockswap.so", BUILD / "apps", mode, variables)


@cache
def passed_through(mode: str) -> float:
    return of_a_pair(mode, LOCKSWAP_RWLOCK="pthread", LOCKSWAP_MUTEX="pthread")


def under(mode: str, lock: str) -> float:
    return of_a_pair(mode, LOCKSWAP_POLICY=f"symbol=no_such_variable {lock}")


@pytest.mark.parametrize("mode", RULES)
def test_an_object_that_no_rule_meets(mode):
    plain, ruled = passed_through(mode), under(mode, RULES[mode])
    print(f"{mode}: {ruled:.1f}, passed through {plain:.1f}")
    assert ruled - plain < MOST + 0.1


@pytest.mark.parametrize("mode", OTHER_KIND)
def test_a_kind_without_rules_is_passed_through(mode):
    plain, ruled = passed_through(mode), under(mode, OTHER_KIND[mode])
    print(f"{mode}: {ruled:.1f}, passed through {plain:.1f}")
    assert abs(ruled - plain) < 0.1
