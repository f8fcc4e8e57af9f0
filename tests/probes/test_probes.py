"""The static probes: what the library's notes say, what a tracer sees of a program whose locking is known, and the
scripts of tools/probes. A tracer needs root and a kernel with uprobes and BPF; elsewhere only the notes are looked at."""

import json
import os
import platform
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/liblockswap.so"
USER = ROOT / "build/tests/probes/probes_user"
SCRIPTS = ROOT / "tools/probes"

# Probe: the exported functions whose first instruction it is at, and its arguments.
ENTRIES = {
    "mutex_init": (["pthread_mutex_init"], 1),
    "mutex_destroy": (["pthread_mutex_destroy"], 1),
    "mutex_entry": (["pthread_mutex_lock"], 1),
    "mutex_timedlock_entry": (["pthread_mutex_timedlock"], 2),
    "mutex_clocklock_entry": (["pthread_mutex_clocklock"], 3),
    "mutex_release": (["pthread_mutex_unlock"], 1),
    "rwlock_destroy": (["pthread_rwlock_destroy"], 1),
    "rdlock_entry": ([f"pthread_rwlock_{form}rdlock" for form in ("", "timed", "clock")], 1),
    "wrlock_entry": ([f"pthread_rwlock_{form}wrlock" for form in ("", "timed", "clock")], 1),
    "rwlock_unlock": (["pthread_rwlock_unlock"], 1),
    "cond_init": (["pthread_cond_init"], 2),
    "cond_destroy": (["pthread_cond_destroy"], 1),
    "cond_wait": ([f"pthread_cond_{form}wait" for form in ("", "timed", "clock")], 2),
    "cond_signal": (["pthread_cond_signal"], 1),
    "cond_broadcast": (["pthread_cond_broadcast"], 1),
}
ACQUIRED = {"mutex_acquired": 1, "mutex_timedlock_acquired": 1, "rdlock_acquire_read": 1, "wrlock_acquire_write": 1}
SLOW = {"mutex_slow": 3, "rdlock_slow": 3}


@dataclass(frozen=True)
class Note:
    location: int
    semaphore: int
    arguments: tuple[str, ...]


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@cache
def notes() -> dict[str, list[Note]]:
    found = defaultdict(list)
    pattern = (
        r"Provider: (\S+)\s+Name: (\S+)\s+Location: 0x(\w+), Base: \w+, Semaphore: 0x(\w+)\s+Arguments: ([^\n]*)\n"
    )
    for provider, name, location, semaphore, arguments in re.findall(pattern, output("readelf", "-nW", LIBRARY)):
        assert provider == "lockswap"
        found[name].append(Note(int(location, 16), int(semaphore, 16), tuple(arguments.split())))
    return found


@cache
def exported() -> dict[str, set[int]]:
    """The addresses of each exported name, at all its versions."""
    found = defaultdict(set)
    for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines():
        address, _, name = line.split()
        found[name.partition("@")[0]].add(int(address, 16))
    return found


def code_at(address: int) -> bytes:
    """Of a library whose code is at the same place in the file as in memory, which is checked."""
    for line in output("readelf", "-lW", LIBRARY).splitlines():
        if m := re.match(r"\s+LOAD\s+0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) .*E", line):
            offset, start, size = (int(x, 16) for x in m.groups())
            if start <= address < start + size:
                with LIBRARY.open("rb") as file:
                    file.seek(offset + address - start)
                    return file.read(4)
    raise AssertionError(f"no code at {address:#x}")


def test_the_names_and_their_arguments() -> None:
    counts = {name: count for name, (_, count) in ENTRIES.items()} | ACQUIRED | SLOW
    assert set(notes()) == set(counts)
    for name, found in notes().items():
        assert {len(n.arguments) for n in found} == {counts[name]}, name


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_the_first_instruction_of_its_functions(name: str) -> None:
    functions, _ = ENTRIES[name]
    entries = set().union(*(exported()[f] for f in functions))
    places = {n.location for n in notes()[name]}
    # Our condition variables release the mutex and lock it again, at a place of their own.
    assert len(places - entries) == (1 if name in ("mutex_entry", "mutex_release") else 0)
    assert entries <= places


def test_a_lock_that_is_acquired_has_a_no_op_of_its_own() -> None:
    no_op = {"x86_64": b"\x90", "aarch64": b"\x1f\x20\x03\xd5"}[platform.machine()]
    for name in ACQUIRED:
        for note in notes()[name]:
            assert code_at(note.location).startswith(no_op), (name, hex(note.location))
    places = [n.location for name in ACQUIRED for n in notes()[name]]
    assert len(places) == len(set(places)), "two probes share an instruction"


def test_slow_stages_have_semaphores_and_nothing_else_does() -> None:
    for name, found in notes().items():
        assert all(bool(n.semaphore) == (name in SLOW) for n in found), name


@cache
def why_no_tracer() -> str:
    """Empty: the kernel lets bpftrace look."""
    if shutil.which("bpftrace") is None:
        return "no bpftrace"
    done = subprocess.run(
        ["bpftrace", "-e", f"uprobe:{LIBRARY}:pthread_mutex_lock {{}} BEGIN {{ exit(); }}"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return "" if done.returncode == 0 else f"bpftrace may not look here: {done.stderr.strip().splitlines()[-1:]}"


def traced(folder: Path, *arguments: str | Path, rounds: int = 1, **locks: str) -> str:
    """What bpftrace prints of the program under a copy of the library: other processes have the library itself loaded,
    and would be looked at, too. {} among the arguments is the copy."""
    if why_no_tracer():
        pytest.skip(why_no_tracer())
    copy = folder / "liblockswap.so"
    shutil.copy(LIBRARY, copy)
    variables = {f"LOCKSWAP_{key.upper()}": value for key, value in locks.items()}
    assigned = " ".join(f"{k}={v}" for k, v in ({"LD_PRELOAD": str(copy)} | variables).items())
    command = ["bpftrace", "-c", f"/usr/bin/env {assigned} {USER} {rounds}"]
    command += [str(a).replace("{}", str(copy)) for a in arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


COUNT = "usdt:{}:lockswap:NAME { @[probe] = count(); }"


@pytest.mark.parametrize("rwlock, mutex", [("bravo-ba", "eventual"), ("pf-t", "mcs"), ("rlu", "ticket")])
def test_a_tracer_sees_each_acquisition_and_each_release(tmp_path: Path, rwlock: str, mutex: str) -> None:
    rounds = 1000
    names = [n for n in [*ENTRIES, *ACQUIRED] if n not in ("mutex_clocklock_entry",)]
    script = " ".join(COUNT.replace("NAME", n) for n in names)
    text = traced(tmp_path, "-f", "json", "-e", script, rounds=rounds, rwlock=rwlock, mutex=mutex)
    maps = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    counted = {key.rpartition(":")[2]: n for m in maps if m["type"] == "map" for key, n in m["data"]["@"].items()}
    # Beside the rounds: what holder and waiter do. The C library's own locks are not seen.
    assert counted == {
        "mutex_entry": rounds + 2,
        "mutex_timedlock_entry": rounds,
        "mutex_acquired": 2 * rounds + 2,
        "mutex_timedlock_acquired": rounds,
        "mutex_release": 3 * rounds + 2,
        "rdlock_entry": rounds + 1,
        "rdlock_acquire_read": rounds + 1,
        "wrlock_entry": rounds + 3,
        "wrlock_acquire_write": rounds + 3,
        "rwlock_unlock": 2 * rounds + 4,
        "cond_signal": rounds,
    }


def test_entries_are_seen_of_locks_that_stay_glibcs(tmp_path: Path) -> None:
    script = COUNT.replace("NAME", "mutex_entry") + " " + COUNT.replace("NAME", "mutex_acquired")
    text = traced(tmp_path, "-e", script, rounds=10)
    assert re.findall(r"@\[\S+:(\w+)\]: (\d+)", text) == [("mutex_entry", "12")]


@pytest.mark.parametrize("rwlock, mutex", [("bravo-ba", "eventual"), ("ba", "mcs")])
def test_the_script_of_waits_names_lock_and_caller(tmp_path: Path, rwlock: str, mutex: str) -> None:
    text = traced(tmp_path, SCRIPTS / "lock-waits.bt", "{}", rwlock=rwlock, mutex=mutex)
    waits = {mode: (where, int(us)) for mode, where, us in re.findall(r"@total_us\[(\w+), \w+, (\S+)\]: (\d+)", text)}
    assert set(waits) == {"mutex", "read", "write"}, text
    for where, us in waits.values():
        assert where.startswith("0x") or "waits_" in where, text
        assert 5_000 < us < 2_000_000, text


def test_the_script_of_holds_names_the_longest(tmp_path: Path) -> None:
    text = traced(tmp_path, SCRIPTS / "lock-holds.bt", "{}", rwlock="ba", mutex="eventual")
    longest = re.findall(r"@longest_us\[(\w+), \w+, \S+\]: (\d+)", text)
    by_mode = {mode: max(int(us) for m, us in longest if m == mode) for mode, _ in longest}
    assert set(by_mode) == {"mutex", "read", "write"}, text
    assert by_mode["mutex"] >= 20_000 and by_mode["write"] >= 20_000, text
    assert by_mode["read"] < 20_000, text
