"""`lockswap whatif`: what a program pays for the holds of its locks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATHS = ROOT / "build/tests/profile/profile_paths"
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.advise import whatif  # noqa: E402
from lockswap.advise.trial import Metric, metric_of  # noqa: E402
from lockswap.base.errors import UserError  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Mode, Profile  # noqa: E402


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    command = [sys.executable, "-m", "lockswap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)


def lock(name: str, acquisitions: int, threads: int = 2, hold_ms: float = 0, rule: str | None = None) -> Lock:
    modes = {EXCLUSIVE: Mode(acquisitions, hold_ns=int(hold_ms * 1e6)), SHARED: Mode()}
    words = f"module=prog symbol={name}" if rule is None else rule
    return Lock("mutex", name, Function("place"), True, words, 1, threads, modes=modes)


def test_locks_that_can_be_probed():
    alone, nowhere = lock("alone", 9_000_000, threads=1), lock("nowhere", 9_000_000, rule="")
    often, long, seldom = lock("often", 8_000_000), lock("long", 10, hold_ms=900), lock("seldom", 10)
    found = Profile(None, 0, [alone, seldom, nowhere, often, long, lock("unused", 0)], [], [], [], [])
    assert [one.name for one in whatif.chosen(found, 9)] == ["long", "often", "seldom"]
    assert len(whatif.chosen(found, 2)) == 2


def test_delays_fit_the_lock():
    # Two threads can do two seconds' work in a second; 0.3 of that, spread over a thousand holds.
    one = whatif.Probed.of(lock("m", 1000), 1.0, 2)
    assert one.longest_ns == 600_000
    assert sorted(one.arms) == [("free", 300_000), ("free", 600_000), ("held", 300_000), ("held", 600_000)]
    assert one.arms["held", 300_000].rules == ["module=prog symbol=m mutex=pthread delay=held:300000ns"]
    assert whatif.Probed.of(lock("m", 10**9), 1.0, 2).longest_ns == 100, "below that it is the clock that is measured"
    assert whatif.Probed.of(lock("m", 1), 100.0, 2).longest_ns == 10_000_000


def test_the_price_is_what_the_same_work_elsewhere_does_not_cost():
    one = whatif.Probed.of(lock("m", 1000), 1.0, 1)  # delays of 150 and 300 us
    rounds = 8
    for (where, ns), arm in one.arms.items():
        arm.values = [2.0 * (1 + ns / 1000 * (0.003 if where == "held" else 0.001))] * rounds
    for_time = Metric()
    assert one.cost("held", [2.0] * rounds, for_time).estimate == pytest.approx(0.003)
    price = one.price([2.0] * rounds, for_time)
    assert (price.estimate, price.low, price.high) == pytest.approx((0.002, 0.002, 0.002))
    for arm in one.arms.values():  # as rates
        arm.values = [4.0 / value for value in arm.values]
    rate = metric_of("(x)", False)
    assert one.price([2.0] * rounds, rate).estimate == pytest.approx(0.002)


def test_a_slope():
    assert whatif.slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    with pytest.raises(UserError, match="above 0"):
        whatif.slower(0.0, 1.0, Metric())


def test_a_lock_on_the_path_and_a_busy_one_off_it(tmp_path):
    out = tmp_path / "found.json"
    metric = "rounds/s: ([0-9.]+)"
    ran = lockswap("whatif", "--metric", metric, "--budget", "15", "--locks", 2, "--json", out, "--", PATHS, 5000)
    assert ran.returncode == 0, ran.stderr
    first, second = json.loads(out.read_text())["locks"]
    assert (first["name"], second["name"]) == ("critical", "busy"), ran.stdout
    assert second["acquisitions"] > first["acquisitions"], "a count of acquisitions would name the other one"
    assert first["price"]["low"] > max(second["price"]["high"], 0), ran.stdout
    assert "The program pays for the holds of: mutex critical" in ran.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--metric", "x", "--", "true"), "one pair of parentheses"),
        (("--lower-is-better", "--", "true"), "says how to read --metric"),
        (("--json", "/nowhere/x.json", "--", "true"), "make it first"),
        (("--locks", "0", "--", "true"), "not in the range"),
        (("--", "no-such-program"), "no-such-program"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(words, why):
    ran = lockswap("whatif", *words)
    assert ran.returncode == 2 and why in ran.stderr, ran.stderr
    assert ran.stdout == ""


def test_a_program_without_locks():
    ran = lockswap("whatif", "--budget", "1", "--", "true")
    assert ran.returncode == 0 and "none can be probed" in ran.stdout, ran.stderr
