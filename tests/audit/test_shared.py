"""Locks in memory that processes share: which of them the audit finds, and what it says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
SHARED = BUILD / "tests/audit/audit_shared"

sys.path[:0] = [str(ROOT / "harness"), str(ROOT / "tests")]

import command_server  # noqa: E402
from lockswap.audit import shared  # noqa: E402
from lockswap.audit.findings import LOOK, MEANINGS, Audit  # noqa: E402

ALL = {"rwlock", "mutex", "cond"}


@pytest.fixture
def audit(tmp_path):
    """audit(CASE): the JSON report, and the text for people in one line."""

    def run(case: str) -> tuple[dict, str]:
        out, file = tmp_path / "audit.json", tmp_path / "memory"
        env = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
        env |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
        done = command_server.run("audit", "--json", "--out", out, "--", SHARED, case, file, env=env, timeout=600)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "done"), done
        report = json.loads(out.read_text())
        return report, done.stderr

    return run


def found(report: dict) -> dict[str, set[str]]:
    """The kinds of locks of each finding."""
    return {one["name"]: {example["kind"] for example in one["examples"]} for one in report["findings"]}


@pytest.mark.parametrize("case", ["forked", "zeroed", "in_segment", "in_file_of_two", "mapped_over"])
def test_a_lock_that_several_processes_use(audit, case):
    report, _ = audit(case)
    assert found(report) == {shared.BETWEEN: ALL}
    assert {one["level"] for one in report["verdicts"].values()} == {"look"} and not report["safe"]
    for example in report["findings"][0]["examples"]:
        assert len({user["pid"] for user in example["users"]}) == 2
        assert all(re.match(r"(use|init), shared.c:\d+ ", user["at"]) for user in example["users"]), example


def test_memory_that_is_mapped_anew_has_other_locks(audit):
    report, _ = audit("mapped_anew")
    assert found(report) == {shared.BETWEEN: ALL, shared.ALONE: ALL}


@pytest.mark.parametrize("case", ["alone", "each_has_its_own", "twice_in_one", "grown"])
def test_a_lock_that_one_process_uses_is_a_note(audit, case):
    report, _ = audit(case)
    assert found(report) == {shared.ALONE: ALL} and report["safe"]


@pytest.mark.parametrize("case", ["private_memory", "unmapped", "process_shared"])
def test_nothing_is_found_in_private_memory_or_of_process_shared_locks(audit, case):
    report, _ = audit(case)
    assert found(report) == {} and report["safe"]


def test_a_mutex_of_the_parent_in_shared_memory_can_still_be_released(audit):
    report, _ = audit("held_by_parent")
    assert found(report) == {shared.BETWEEN: {"mutex"}}


def test_a_lock_whose_holder_has_ended(audit):
    report, _ = audit("left_held")
    assert found(report) == {shared.LEFT: {"mutex", "rwlock"}, shared.BETWEEN: {"mutex", "rwlock"}}
    users = report["findings"][1]["examples"][0]["users"]
    assert {user["gone_holder"] for user in users} == {0, *(user["pid"] for user in users)} - {users[0]["pid"]}


def test_a_lock_that_was_last_used_with_other_locks(audit, tmp_path):
    env = {"LD_PRELOAD": str(BUILD / "liblockswap.so"), "LOCKSWAP_RWLOCK": "auto", "LOCKSWAP_MUTEX": "auto"}
    subprocess.run([SHARED, "in_file", tmp_path / "memory"], env=os.environ | env, check=True, capture_output=True)
    report, _ = audit("tries")
    assert found(report) == {shared.LEFT: {"mutex", "rwlock"}} and not report["safe"]
    # glibc's own leave nothing that it would not leave.
    (tmp_path / "memory").unlink()
    subprocess.run([SHARED, "in_file", tmp_path / "memory"], check=True, capture_output=True)
    report, _ = audit("tries")
    assert found(report) == {shared.ALONE: {"mutex"}, shared.BETWEEN: {"rwlock"}}


def test_many_pieces_of_shared_memory(audit):
    report, _ = audit("scattered")
    assert found(report) == {shared.ALONE: ALL}
    (finding,) = report["findings"]
    assert (finding["times"], len({example["memory"]["inode"] for example in finding["examples"]})) == (6, 2)


def test_locks_that_are_used_alike_are_one_example_and_the_record_has_room_for_128(audit):
    report, _ = audit("many")
    (finding,) = report["findings"]
    assert [example["times"] for example in finding["examples"]] == [128]
    assert any("more locks in shared memory" in note for note in report["notes"])


def test_what_is_said(audit, tmp_path):
    env = os.environ | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    done = command_server.run("audit", "--", SHARED, "in_file_of_two", tmp_path / "memory", env=env, timeout=600)
    says = " ".join(done.stderr.split())
    file = re.escape(str(tmp_path / "memory"))
    use = r"audit_shared \(\d+\) uses it at use, shared.c:\d+ \(audit_shared\+0x\w+\)"
    assert re.search(rf"1 mutex at offset 0x0 of {file} {use} {use}", says), says
    assert "Initialise it with PTHREAD_PROCESS_SHARED" in says


def process(number: int, **lock: object) -> dict:
    one = {"kind": "mutex", "lock": "0x1000", "pid": number, "thread": number, "device": 1, "inode": 7, "offset": 0}
    one |= {"begins": False, "is_used": False, "not_glibcs": False, "gone_holder": 0, "file": "/dev/zero (deleted)"}
    locks = [one | {"stack": None} | lock]
    return {"program": "p", "pid": number, "counts": {}, "findings": [], "shared_locks": locks}


@pytest.mark.parametrize(
    ("second", "name"),
    [
        ({}, shared.BETWEEN),
        ({"offset": 40}, shared.ALONE),
        ({"inode": 8}, shared.ALONE),
        ({"device": 2}, shared.ALONE),
        ({"file": "/SYSV00000000 (deleted)"}, shared.ALONE),
        ({"kind": "rwlock"}, shared.ALONE),
        ({"begins": True}, shared.BETWEEN),
        ({"not_glibcs": True}, shared.LEFT),
    ],
)
def test_a_lock_is_its_place_in_the_file(second, name):
    names = {found.name for found in Audit(["p"], 0, [process(1), process(2, **second)], []).findings}
    assert name in names
    assert (MEANINGS[name].level == LOOK) == (names != {shared.ALONE})
