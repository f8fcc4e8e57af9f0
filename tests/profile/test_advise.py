"""`lockswap advise`: what it tries, for which locks, and when it says to keep glibc's."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from test_profile import HOT, line_of

ROOT = Path(__file__).resolve().parents[2]
HUNDRED = ROOT / "build/tests/profile/profile_hundred"
sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.advise.advise import _experiment, _profile, keeping  # noqa: E402
from lockswap.advise.candidates import candidates, held_locks, hot_locks  # noqa: E402
from lockswap.advise.ran import Ran  # noqa: E402
from lockswap.advise.subject import Command, asked_for  # noqa: E402
from lockswap.advise.trial import Arm, Metric, Timed, Trial  # noqa: E402
from lockswap.base.errors import UserError  # noqa: E402
from lockswap.base.paths import Paths  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Mode, Pair, Profile, Side  # noqa: E402


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=env)


def lock(kind: str, name: str, reads: int, writes: int, wait_ms: float = 0, threads: int = 2) -> Lock:
    modes = {EXCLUSIVE: Mode(writes, wait_ns=int(wait_ms * 1e6)), SHARED: Mode(reads)}
    return Lock(kind, name, Function("place"), True, f"module=prog symbol={name}", 1, threads, modes=modes)


def profile(*locks: Lock) -> Profile:
    return Profile(None, 10_000, list(locks), [], [], [], [])


def test_a_shell_takes_the_command_as_it_was_given():
    said = shlex.split(keeping(Path("/x/lib.so"), Path("my policy"), ["./prog", "a b", "$c"]))
    assert said == ["LD_PRELOAD=/x/lib.so", "LOCKSWAP_POLICY=my policy", "./prog", "a b", "$c"]


def test_what_costs_is_hot():
    waits = lock("mutex", "waits", 0, 1000, wait_ms=500)
    busy = lock("rwlock", "busy", 10_000_000, 100)
    quiet = lock("mutex", "quiet", 0, 1000)
    alone = lock("mutex", "alone", 0, 50_000_000, threads=1)
    nowhere = replace(waits, name="nowhere", rule="")
    hot = hot_locks(profile(quiet, busy, alone, nowhere, waits), wall_s=1, processors=2)
    assert [one.lock.name for one in hot] == ["busy", "waits"]
    # On one processor no thread fights another one for a cache line.
    assert [one.lock.name for one in hot_locks(profile(busy, waits), 1, 1)] == ["waits"]
    crowd = lock("mutex", "crowd", 0, 1000, wait_ms=90_000, threads=100)
    assert [one.share for one in hot_locks(profile(crowd), 1, 2)] == [1]
    assert len(hot_locks(profile(*(lock("mutex", f"m{n}", 0, 10, 500) for n in range(9))), 1, 2)) == 3


def held(mode: str, hold_us: int, until_release: float, line: int = 7) -> Lock:
    one = lock("rwlock", "table", 1000, 1000, wait_ms=500)
    one.modes[mode].timed_holds, one.modes[mode].hold_ns = 100, 100_000 * hold_us
    waiter, holder = Side(EXCLUSIVE, ()), Side(mode, (Function("slow", f"s.c:{line}"),))
    wait_ns = 500_000_000
    one.pairs[waiter, holder] = Pair(waiter, holder, 100, wait_ns, int(until_release * wait_ns))
    return one


def test_no_algorithm_shortens_a_hold():
    long = held(EXCLUSIVE, 500, until_release=0.99)
    assert hot_locks(profile(long), 1, 2) == []
    (said,) = held_locks(profile(long), 1, 2)
    assert "rwlock table: threads wait for holds of 500 us" in str(said) and "slow s.c:7" in str(said)
    # Short holds, long hand-offs, and readers that keep a writer out, are what another algorithm may change.
    for other in (held(EXCLUSIVE, 20, 0.99), held(EXCLUSIVE, 500, 0.5), held(SHARED, 500, 0.99)):
        assert [one.lock for one in hot_locks(profile(other), 1, 2)] == [other]
        assert held_locks(profile(other), 1, 2) == []


SAYS_WHERE = rf"mutex hot: threads wait for holds of [\d,]+ us .* ends at hold_long .*{line_of('holder sleep')}"


def test_a_program_with_long_holds_is_told_where():
    # On a busy machine a thread gets the lock late, which costs nothing beside such a hold.
    trial = Trial(ROOT / "build/liblockswap.so", Command([str(HOT), "sleep", "2000000", "1"]), Metric())
    (held,) = held_locks(_profile(Paths.find(), trial), wall_s=2, processors=2)
    assert re.search(SAYS_WHERE, str(held))


@pytest.mark.alone  # beside others, a thread gets the lock late, and that may cost more than 1 %
def test_a_program_with_long_holds_keeps_its_locks(tmp_path):
    done = lockswap("advise", "--budget", "1", "-o", tmp_path / "p", "--", HOT, "sleep", "200000", "5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Keep glibc's locks: none costs") and "long holds apart" in done.stdout
    assert re.search(SAYS_WHERE, done.stdout)
    assert not (tmp_path / "p").exists()


class Played:
    """A trial whose runs take what a list says: by round, for glibc's and for what is swapped."""

    words = ("true",)

    def __init__(self, seconds):
        self.seconds, self.made = seconds, {False: 0, True: 0}

    def run(self, env, swap):
        swapped = "LOCKSWAP_POLICY" in swap
        n = self.made[swapped]
        self.made[swapped] += 1
        return Ran("", "", self.seconds(swapped, n), 1.0)


@pytest.mark.parametrize(
    "seconds, answer",
    [
        (lambda swapped, n: 1.0 + 0.001 * (n % 3), "nothing that was tried is shown to be faster"),
        # Only the runs that chose it are fast.
        (lambda swapped, n: 0.5 + 0.001 * n if swapped and n < 6 else 1.0 + 0.001 * (n % 3), "was not confirmed"),
        (lambda swapped, n: (0.5 if swapped else 1.0) + 0.001 * (n % 3), "Swap: auto for mutex m"),
    ],
)
def test_what_the_experiment_comes_to(tmp_path, seconds, answer):
    hot = hot_locks(profile(lock("mutex", "m", 0, 9_000_000, threads=8)), 1, 2)
    trial = Trial(tmp_path / "liblockswap.so", Played(seconds), Metric())
    advice = _experiment(trial, hot, partial(candidates, processors=2), time.monotonic() + 60)
    assert answer in advice.text
    assert bool(advice.policy) == answer.startswith("Swap")


SQLITE = """
import sqlite3
db = sqlite3.connect(":memory:")
db.execute("create table t (i integer primary key, x text)")
for n in range(20000):
    db.execute("insert into t (x) values (?)", (str(n),))
print(db.execute("select count(*), sum(length(x)) from t").fetchone())
"""


def test_sqlite_with_one_thread_keeps_glibcs(tmp_path):
    policy = tmp_path / "policy"
    done = lockswap("advise", "--budget", "1", "-o", policy, "--", sys.executable, "-c", SQLITE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Keep glibc's locks") and not policy.exists()


def test_what_is_tried_follows_from_the_evidence():
    def tried(one: Lock, processors: int = 2, **given: object) -> list[str]:
        (hot,) = hot_locks(profile(one), 1, processors)
        return [candidate.algorithm for candidate in candidates(hot, processors, **given)]

    assert tried(lock("rwlock", "l", 9_999_000, 1000)) == ["auto", "bravo-asym-eventual", "cohort"]
    assert tried(lock("rwlock", "l", 9_500_000, 500_000, threads=8)) == ["auto"]
    assert tried(lock("rwlock", "l", 1_000_000, 9_000_000, threads=8)) == ["auto", "exclusive"]
    assert tried(lock("mutex", "l", 0, 9_000_000)) == ["auto", "cohort"]
    assert tried(lock("mutex", "l", 0, 9_000_000, threads=8)) == ["auto"]
    assert tried(lock("mutex", "l", 0, 9_000_000), left_out=("cohort",)) == ["auto"]


def test_a_rule_catches_the_lock():
    (hot,) = hot_locks(profile(lock("rwlock", "table", 10_000_000, 1)), 1, 2)
    assert candidates(hot, 2)[0].rule == "module=prog symbol=table rwlock=auto"


def test_ratios_know_what_is_better(tmp_path):
    arms = [Arm("base", values=[2.0] * 8), Arm("other", ["x"], values=[1.0] * 8)]
    trial = Trial(tmp_path, Command(["true"]), Metric())
    assert trial.ratio(arms[1], arms[0]).estimate == pytest.approx(2), "half the time is twice as good"
    rate = Trial(tmp_path, Command(["true"]), Metric(re.compile("(x)")))
    assert rate.ratio(arms[1], arms[0]).estimate == pytest.approx(0.5)


def test_each_round_begins_with_another(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(Trial, "run", lambda self, rules: order.append(rules[0]) or Timed(1.0, 1.0, 1.0))
    trial = Trial(tmp_path, Command(["true"]), Metric())
    arms = [Arm(name, [name]) for name in "abc"]
    for number in range(3):
        trial.round(arms, number)
    assert "".join(order) == "abcbcacab"
    assert [len(arm.values) for arm in arms] == [3, 3, 3]


@pytest.mark.parametrize(
    ("pattern", "text", "why"),
    [("x([0-9]+)", "y1", "nothing in the program"), ("x(.)", "xy", "not a number")],
)
def test_a_metric_that_finds_no_number(pattern, text, why):
    with pytest.raises(UserError, match=why):
        Metric(re.compile(pattern)).of(text, 1)


def test_the_last_number_counts():
    assert Metric(re.compile("x([0-9]+)")).of("x1 x2", 9) == 2
    assert Metric().of("", 9) == 9


def test_the_hot_lock_among_a_hundred_is_caught(tmp_path):
    """The one that is tried first; which algorithm is faster is measured when nothing else runs."""
    trial = Trial(ROOT / "build/liblockswap.so", Command([str(HUNDRED), "0.2"]), Metric())
    hot, *_ = hot_locks(_profile(Paths.find(), trial), wall_s=0.2, processors=2)
    assert hot.lock.name == "hot" and hot.lock.modes[SHARED].acquisitions > 0
    (rule, *_) = [one.rule for one in candidates(hot, 2)]
    assert rule == "module=profile_hundred symbol=hot rwlock=auto"
    policy = tmp_path / "policy"
    policy.write_text(f"{rule}\n")
    caught = lockswap("policy", "check", policy, "--", HUNDRED, "0.1")
    assert "1 rwlock" in caught.stderr, caught


@pytest.mark.alone
def test_one_hot_lock_among_a_hundred(tmp_path):
    program = HUNDRED
    out = tmp_path / "found.policy"
    metric = "updates/s: ([0-9]+)"
    ran = lockswap("advise", "--metric", metric, "--budget", "60", "-o", out, "--", program, "0.4")
    assert ran.returncode == 0, ran.stderr
    assert "Swap: " in ran.stdout and "rwlock hot" in ran.stdout, ran.stdout + ran.stderr
    rules = [line for line in out.read_text().splitlines() if not line.startswith("#")]
    assert any(re.fullmatch(r"module=profile_hundred symbol=hot rwlock=(auto|bravo-\S+)", rule) for rule in rules), (
        rules
    )
    caught = lockswap("policy", "check", out, "--", program, "0.1")
    assert "1 rwlock" in caught.stderr, "the policy catches the lock when it is used"
    # What was measured holds: run by turns once more, the writer gets further.
    trial = Trial(ROOT / "build/liblockswap.so", Command([str(program), "0.4"]), Metric(re.compile(metric)))
    arms = [Arm("glibc's"), Arm("advised", rules)]
    for number in range(6):
        trial.round(arms, number)
    assert sum(arms[1].values) > 1.5 * sum(arms[0].values), [arm.values for arm in arms]


CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
    print(server.makefile().read())
"""


def test_a_server_runs_under_the_load(tmp_path):
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    server, load = f"{HUNDRED} serve {{port}}", f"{sys.executable} {client} {{port}}"
    under_load = asked_for(ROOT / "build/bin/lockswap-meter", [], server, load, None, None)
    ran = under_load.run(os.environ, {"LD_PRELOAD": str(ROOT / "build/liblockswap.so"), "LOCKSWAP_VERBOSE": "1"})
    assert re.search("updates/s: [0-9]+", ran.text) and ran.wall_s > 0.3 and ran.cpu_s > 0
    assert ran.server_text.count("lockswap") == 1 and "lockswap" not in ran.text, "the server alone is preloaded"


@pytest.mark.full
def test_advice_on_a_server(tmp_path):
    out = tmp_path / "found.policy"
    client = tmp_path / "client.py"
    client.write_text(CLIENT)
    server, load = f"{HUNDRED} serve {{port}}", f"{sys.executable} {client} {{port}}"
    metric = "updates/s: ([0-9]+)"
    ran = lockswap("advise", "--server", server, "--load", load, "--metric", metric, "--budget", "20", "-o", out)
    assert ran.returncode == 0, ran.stderr
    assert "Swap: " in ran.stdout and "rwlock hot" in ran.stdout, ran.stdout + ran.stderr
    assert "module=profile_hundred symbol=hot rwlock=" in out.read_text()
    assert f"LOCKSWAP_POLICY={out} {HUNDRED} serve {{port}}" in ran.stdout


def test_what_goes_wrong_with_a_server_is_said(tmp_path):
    out = ["-o", tmp_path / "p"]
    serves, client = f"{HUNDRED} serve {{port}}", tmp_path / "client.py"
    client.write_text(CLIENT)
    for words, why in (
        (["--server", serves], "--server needs --load"),
        (["--load", "true", "--", "true"], "--load needs --server"),
        (["--server", serves, "--load", "true", "--", "true"], "not both"),
        (["--server", "sleep 9", "--load", "true"], "--server needs --ready"),
        (["--server", serves, "--load", "true", "--ready", "("], "neither a port nor a regex"),
        (["--server", serves, "--load", "true", "--stop", "NONE"], "no signal 'NONE'"),
        (["--server", "false {port}", "--load", "true"], "the server ended with status 1"),
        (["--server", serves, "--load", "false"], "the load ended with status 1"),
        (
            ["--server", serves, "--load", f"{sys.executable} {client} {{port}}", "--metric", "x(1)"],
            "nothing in the program",
        ),
        ([], "give the command to run"),
    ):
        ran = lockswap("advise", *out, *words)
        assert ran.returncode == 2 and why in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr


def test_a_program_with_one_thread_keeps_glibcs(tmp_path):
    xz = shutil.which("xz")
    if xz is None:
        pytest.skip("xz is not installed")
    out = tmp_path / "none.policy"
    ran = lockswap("advise", "--budget", "5", "-o", out, "--", xz, "--stdout", "-1", "-T1", __file__)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("Keep glibc's locks: none costs")
    assert not out.exists()


def test_what_cannot_work_is_said_in_a_line(tmp_path):
    there = tmp_path / "there"
    there.write_text("")
    for words, why in (
        (["-o", there, "--", "true"], "it exists already"),
        (["-o", tmp_path / "no" / "file", "--", "true"], "there is no folder"),
        (["-o", tmp_path / "p", "--metric", "x", "--", "true"], "one pair of parentheses"),
        (["-o", tmp_path / "p", "--metric", "x(", "--", "true"], "not a valid regex"),
        (["-o", tmp_path / "p", "--metric", "x([0-9])", "--", "true"], "nothing in the program"),
        (["-o", tmp_path / "p", "--better", "lower", "--", "true"], "--better lower"),
        (["-o", tmp_path / "p", "--", "false"], "status 1"),
    ):
        ran = lockswap("advise", *words)
        assert ran.returncode == 2 and why in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr
