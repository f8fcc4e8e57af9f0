"""`lockswap whatif`: slopes, ranks, and programs of which it is known what their locks cost."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KNOWN_COST = ROOT / "build/tests/profile/profile_known_cost"
sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.advise.subject import Command  # noqa: E402
from lockswap.advise.trial import Metric, Timed, Trial  # noqa: E402
from lockswap.base.errors import UserError  # noqa: E402
from lockswap.findings import stats  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Mode  # noqa: E402
from lockswap.whatif import ranking  # noqa: E402
from lockswap.whatif.delayed import Delayed  # noqa: E402
from lockswap.whatif.runs import choose_delays, delays_of  # noqa: E402
from lockswap.whatif.whatif import chosen  # noqa: E402


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=env)


def delayed(name: str, cost_per_us: float, of_processor: float = 0.0, noise: float = 0.0, rounds: int = 6) -> Delayed:
    """A lock of a program that takes a second. `cost_per_us` is paid only in holds, `of_processor` behind them, too."""
    one = Delayed(name, f"symbol={name}", 10.0, 1000, (50_000, 100_000))
    for number in range(rounds):
        off = noise * (number - (rounds - 1) / 2)
        one.inside.append(tuple(1 + us * (cost_per_us + of_processor + off) for us in (50, 100)))
        one.behind.append(tuple(1 + us * of_processor for us in (50, 100)))
    return one


def test_the_slope_is_what_a_delay_costs_more_in_holds():
    one = delayed("l", 0.001, of_processor=0.002)
    assert one.cost(False).estimate == pytest.approx(0.001)
    assert one.cost(True).estimate == pytest.approx(-0.001), "a rate that grows is no cost"
    assert one.cost_to([1.0] * 6, False, False).estimate == pytest.approx(0.003)
    assert one.cost_to([1.0] * 6, True, False).estimate == pytest.approx(0.002)
    assert one.matters(False).estimate == pytest.approx(0.01), "ten microseconds each hold"


def test_intervals_of_differences():
    found = stats.shift([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert (found.low, found.estimate, found.high) == (1.0, 3.5, 6.0), "six values: the ends are the extremes"
    assert found.times(-1).low == -6.0
    assert stats.shift([7.0] * 6).is_apart_from(found) and not found.is_apart_from(found)


def test_the_worst_is_first_and_overlaps_are_said():
    locks = [delayed("idle", 0.0, 0.003, noise=0.0001), delayed("worst", 0.004), delayed("near", 0.0039, noise=0.0002)]
    ranks = ranking.rank(locks, [1.0] * 6, Metric())
    assert [one.lock.title for one in ranks] == ["worst", "near", "idle"]
    assert [one.is_apart for one in ranks] == [False, True, True]
    assert [one.is_shown for one in ranks] == [True, True, False]
    assert ranks[0].percent.estimate == pytest.approx(0.4) and ranks[0].share.estimate == pytest.approx(4)
    assert ranks[0].paid.estimate == pytest.approx(4), "4 ms by 1000 holds of which each is 1 us longer"
    missed = Delayed("gone", "symbol=gone", 1.0)
    text = ranking.shown(ranks, [missed], [1.0] * 6, Metric())
    assert "Whether it matters more than near is not shown" in text
    assert "idle: no cost is shown" in text and "gone: no hold of it was seen" in text
    data = json.loads(json.dumps(ranking.as_data(ranks, [missed], [1.0] * 6, Metric(re.compile("(x)")))))
    assert [one["lock"] for one in data["locks"]] == ["worst", "near", "idle"]
    assert data["not_seen"] == [{"lock": "gone", "rule": "symbol=gone"}]


def lock(kind: str, name: str, wait_ms: float = 0, threads: int = 2, rule: str = "") -> Lock:
    modes = {
        EXCLUSIVE: Mode(100, wait_ns=int(wait_ms * 1e6), timed_holds=10, hold_ns=20_000),
        SHARED: Mode(300 if kind == "rwlock" else 0, timed_holds=10 if kind == "rwlock" else 0, hold_ns=60_000),
    }
    return Lock(kind, name, Function("place"), True, rule or f"module=prog symbol={name}", 1, threads, modes=modes)


def test_more_than_all_of_a_rate_is_no_share_of_it():
    """A writer that starves gets many times its rate if readers pause outside; 4253.8 % of it hung on the holds."""
    text = ranking.shown(ranking.rank([delayed("l", 0.5)], [0.001] * 6, Metric()), [], [0.001] * 6, Metric())
    assert "its holds decide the time of a run: their estimated cost is more than 100 %" in text
    assert "500,000 %" in text and "+50,000 %" in text and "e+" not in text and " hangs on " not in text


def test_which_locks_are_tried():
    locks = [lock("mutex", "quiet"), lock("mutex", "alone", 90, threads=1), lock("rwlock", "hot", 50)]
    assert [one.title for one in chosen(locks, 5, "both")] == ["rwlock hot", "mutex quiet"]
    assert [one.rule for one in chosen(locks, 1, "both")] == ["module=prog symbol=hot kind=rwlock"]
    assert [(one.rule, one.hold_us) for one in chosen(locks, 5, "read")] == [
        ("module=prog symbol=hot kind=rwlock mode=read", 6.0)
    ]
    assert chosen(locks, 5, "both")[0].hold_us == pytest.approx((100 * 2 + 300 * 6) / 400)
    pair = [lock("mutex", "pool+8", 2, rule="symbol=pool"), lock("mutex", "pool+48", 1, rule="symbol=pool")]
    assert [one.title for one in chosen(pair, 5, "both")] == ["mutex pool+8 and pool+48"]


def test_delays_follow_from_the_holds(tmp_path, monkeypatch):
    said = tuple(f"lockswap: LOCKSWAP_DELAY: {n} delays of 0 ns in holds, of 1 objects\n" for n in (600, 400))
    assert delays_of(Timed(1.0, 1.0, 1.0, said)) == 1000, "of two processes"
    monkeypatch.setattr(Trial, "run", lambda self, rules=(), more=None: Timed(1.0, 1.0, 1.0, said))
    one = Delayed("l", "symbol=l", 1.0)
    choose_delays(Trial(tmp_path, Command(["true"]), Metric()), one, 2.0, None)
    assert one.holds == 1000 and one.delays_ns == (500_000, 1_000_000), "half of two seconds, by a thousand holds"
    choose_delays(Trial(tmp_path, Command(["true"]), Metric()), one, 2.0, 7000)
    assert one.delays_ns == (3500, 7000)


def test_what_the_library_says_is_no_metric():
    trial = Trial(
        ROOT / "build/liblockswap.so", Command([sys.executable, "-c", "print(5)"]), Metric(re.compile("([0-9]+)"))
    )
    ran = trial.run(more={"LOCKSWAP_VERBOSE": "1", "LOCKSWAP_DELAY": "nowhere:+1us"})
    assert ran.value == 5 and any("0 delays of 1000 ns" in line for line in ran.said)


@pytest.mark.parametrize(
    ("more", "under"),
    [
        ({}, "glibc's locks"),
        ({"LOCKSWAP_PROFILE": "{tmp}"}, "the profile"),
        ({"LOCKSWAP_DELAY": "f:+1us"}, "LOCKSWAP_DELAY='f:+1us'"),
    ],
)
def test_a_failure_names_what_the_run_was_under(tmp_path, more, under):
    trial = Trial(ROOT / "build/liblockswap.so", Command(["/bin/sh", "-c", "exit 7"]), Metric())
    with pytest.raises(UserError, match=f"^with {re.escape(under)} the program ended with status 7: "):
        trial.run(more={key: value.format(tmp=tmp_path) for key, value in more.items()})


def ranked_locks(budget: int) -> tuple[list[dict], str]:
    ran = lockswap("whatif", "--budget", str(budget), "--json", "--metric", "seconds: ([0-9.]+)", "--lower-is-better",
                   "--", KNOWN_COST, "path")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)["locks"], ran.stdout


def test_each_lock_is_delayed_in_all_its_holds():
    # What a run costs then depends on what else runs.
    locks, text = ranked_locks(1)
    assert {lock["lock"]: lock["holds"] for lock in locks} == {"mutex critical": 120, "mutex busy": 400}, text


@pytest.mark.alone
def test_the_critical_path_is_ranked_before_a_busy_lock():
    (critical, busy), text = ranked_locks(15)
    assert [critical["lock"], busy["lock"]] == ["mutex critical", "mutex busy"], text
    assert critical["cost_is_shown"] and critical["apart_from_next"], text
    assert critical["percent_of_metric"]["low"] > busy["percent_of_metric"]["high"]


@pytest.mark.full
def test_the_same_of_reader_writer_locks():
    ran = lockswap("whatif", "--budget", "60", "--json", "--", KNOWN_COST, "readers")
    critical, busy = json.loads(ran.stdout)["locks"]
    assert [critical["lock"], busy["lock"]] == ["rwlock critical_rw", "rwlock busy_rw"], ran.stdout
    assert critical["cost_is_shown"] and critical["apart_from_next"], ran.stdout
    reads = lockswap(
        "whatif", "--mode", "read", "--delay", "20", "--budget", "5", "--json", "--", KNOWN_COST, "readers"
    )
    (one,) = json.loads(reads.stdout)["locks"]
    assert one["lock"] == "rwlock busy_rw" and one["holds"] == 360 and one["delays_ns"] == [10_000, 20_000]


def test_a_program_without_shared_locks():
    ran = lockswap("whatif", "--", KNOWN_COST, "count")
    assert ran.returncode == 0 and ran.stdout.startswith("Nothing to delay: "), ran.stdout + ran.stderr


def test_what_cannot_work_is_said_in_a_line():
    for words, why in (
        (["--metric", "x", "--", "true"], "one pair of parentheses"),
        (["--metric", "x(", "--", "true"], "not a valid regex"),
        (["--metric", "x([0-9])", "--", "true"], "nothing in the program"),
        (["--better", "lower", "--", "true"], "--better lower"),
        (["--lock", "nowhere", "--", KNOWN_COST, "count"], "no lock has that in its name"),
        (["--", "false"], "status 1"),
        (["--", "no-such-program"], "no-such-program"),
    ):
        ran = lockswap("whatif", *words)
        assert ran.returncode == 2 and why in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr
