"""`lockswap advise`: what it tries, for which locks, and when it says to keep glibc's."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HUNDRED = ROOT / "build/tests/profile/profile_hundred"
sys.path.insert(0, str(ROOT / "harness"))

from lockswap.advise.candidates import candidates, hot_locks  # noqa: E402
from lockswap.advise.subject import Command, asked_for  # noqa: E402
from lockswap.advise.trial import Arm, Metric, Timed, Trial  # noqa: E402
from lockswap.base.errors import UserError  # noqa: E402
from lockswap.profile.names import Function  # noqa: E402
from lockswap.profile.summary import EXCLUSIVE, SHARED, Lock, Mode, Profile  # noqa: E402


def lockswap(*words: object) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    command = [sys.executable, "-m", "lockswap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=300)


def lock(kind: str, name: str, reads: int, writes: int, wait_ms: float = 0, threads: int = 2) -> Lock:
    modes = {EXCLUSIVE: Mode(writes, wait_ns=int(wait_ms * 1e6)), SHARED: Mode(reads)}
    return Lock(kind, name, Function("place"), True, f"module=prog symbol={name}", 1, threads, modes=modes)


def profile(*locks: Lock) -> Profile:
    return Profile(None, 10_000, list(locks), [], [], [], [])


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
    assert len(hot_locks(profile(*(lock("mutex", f"m{n}", 0, 10, 500) for n in range(9))), 1, 2)) == 3


def test_what_is_tried_follows_from_the_evidence():
    def tried(one: Lock, processors: int = 2) -> list[str]:
        (hot,) = hot_locks(profile(one), 1, processors)
        return [candidate.algorithm for candidate in candidates(hot, processors)]

    assert tried(lock("rwlock", "l", 9_999_000, 1000)) == ["auto", "bravo-asym-eventual", "cohort"]
    assert tried(lock("rwlock", "l", 9_500_000, 500_000, threads=8)) == ["auto"]
    assert tried(lock("rwlock", "l", 1_000_000, 9_000_000, threads=8)) == ["auto", "exclusive"]
    assert tried(lock("mutex", "l", 0, 9_000_000)) == ["auto", "cohort"]
    assert tried(lock("mutex", "l", 0, 9_000_000, threads=8)) == ["auto"]


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
    [("x([0-9]+)", "y1", "prints nothing"), ("x(.)", "xy", "no number")],
)
def test_a_metric_that_finds_no_number(pattern, text, why):
    with pytest.raises(UserError, match=why):
        Metric(re.compile(pattern)).of(text, 1)


def test_the_last_number_counts():
    assert Metric(re.compile("x([0-9]+)")).of("x1 x2", 9) == 2
    assert Metric().of("", 9) == 9


def test_one_hot_lock_among_a_hundred(tmp_path):
    program = HUNDRED
    out = tmp_path / "found.policy"
    metric = "updates/s: ([0-9]+)"
    ran = lockswap("advise", "--metric", metric, "--budget", "12", "-o", out, "--", program, "0.4")
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
    assert re.search("updates/s: [0-9]+", ran.text) and ran.wall_s > 0.3 and ran.cpu_s > 0.1
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
        (["--load", "true", "--", "true"], "--load goes with --server"),
        (["--server", serves, "--load", "true", "--", "true"], "not both"),
        (["--server", "sleep 9", "--load", "true"], "--server needs --ready"),
        (["--server", serves, "--load", "true", "--ready", "("], "neither a port nor a regex"),
        (["--server", serves, "--load", "true", "--stop", "NONE"], "no signal 'NONE'"),
        (["--server", "false {port}", "--load", "true"], "the server ended with status 1"),
        (["--server", serves, "--load", "false"], "the load ended with status 1"),
        (["--server", serves, "--load", f"{sys.executable} {client} {{port}}", "--metric", "x(1)"], "prints nothing"),
        ([], "say what to run"),
    ):
        ran = lockswap("advise", *out, *words)
        assert ran.returncode == 2 and why in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr


def test_a_program_with_one_thread_keeps_glibcs(tmp_path):
    xz = shutil.which("xz")
    if xz is None:
        pytest.skip("xz is not installed")
    out = tmp_path / "none.policy"
    ran = lockswap("advise", "--budget", "5", "-o", out, "--", xz, "--stdout", "-1", "-T1", ROOT / "README.md")
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
        (["-o", tmp_path / "p", "--metric", "x(", "--", "true"], "no regular expression"),
        (["-o", tmp_path / "p", "--metric", "x([0-9])", "--", "true"], "prints nothing"),
        (["-o", tmp_path / "p", "--lower-is-better", "--", "true"], "--lower-is-better"),
        (["-o", tmp_path / "p", "--", "false"], "status 1"),
    ):
        ran = lockswap("advise", *words)
        assert ran.returncode == 2 and why in ran.stderr, (words, ran.stderr)
        assert "Traceback" not in ran.stderr
