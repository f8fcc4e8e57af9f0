"""Real campaigns with a known outcome; known_differences.py prints the same in detail."""

import pytest

from known_differences import verdicts

pytestmark = pytest.mark.full


def test_of_equals_at_most_one_campaign_in_twenty_claims_a_difference(lockswap):
    claiming = [found for _ in range(20) if {"faster", "slower"} & set((found := verdicts(lockswap, "ba")).values())]
    assert len(claiming) <= 1, claiming


def test_a_fifth_slower_is_found(lockswap):
    found = [verdicts(lockswap, "slow20", "--until", "5%", "--budget", "2") for _ in range(3)]
    assert all("slower" in said.values() and "faster" not in said.values() for said in found), found


def test_a_twentieth_slower_is_found_or_left_open(lockswap):
    found = [verdicts(lockswap, "slow5", "--until", "5%", "--budget", "1") for _ in range(3)]
    assert all("faster" not in said.values() for said in found), found
