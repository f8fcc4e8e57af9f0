"""The static probes: what the library's notes say, what a tracer sees of a program whose locking is known, and the
scripts of tools/probes. A tracer needs root and a kernel with uprobes and BPF; elsewhere only the notes are read."""

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
from header import needed
from tracer import end_tracer, wait_until_attached, why_no_tracer

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build/liblockswap.so"
USER = ROOT / "build/tests/probes/probes_user"
SCRIPTS = ROOT / "tools/probes"
pytestmark = needed

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
    """Four bytes of the library, whose code must be at the same place in the file as in memory."""
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
    # Our condition variables release the mutex and lock it again, at places of their own.
    assert bool(places - entries) == (name in ("mutex_entry", "mutex_release"))
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


def parsed(script: Path, folder: Path) -> subprocess.CompletedProcess:
    """bpftrace reads it, checks types and places against the library, and makes its code; the kernel is not asked."""
    if shutil.which("bpftrace") is None or os.geteuid() != 0:
        pytest.skip("bpftrace runs as root alone")
    command = ["bpftrace", "--emit-elf", folder / "code", script, LIBRARY]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.bt")), ids=lambda script: script.stem)
def test_a_script_is_right_where_the_kernel_allows_nothing(script: Path, tmp_path: Path) -> None:
    done = parsed(script, tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    for mode, name in re.findall(r"^(usdt|uprobe|uretprobe):\$1:([\w:]+)", script.read_text(), re.MULTILINE):
        known = notes() if mode == "usdt" else exported()
        assert name.removeprefix("lockswap:") in known, f"{script.name} looks at {name}, which isn't there"
    # What is wrong is found, so the above says something.
    wrong = tmp_path / "wrong.bt"
    for right, other in (("hist(", "histo("), ("arg0", "arg")):
        wrong.write_text(script.read_text().replace(right, other))
        assert wrong.read_text() != script.read_text() and parsed(wrong, tmp_path).returncode != 0, other


def traced(folder: Path, *arguments: str | Path, rounds: int = 1, **locks: str) -> str:
    """What bpftrace says of the program under a copy of the library: other processes have the library itself loaded,
    and would be looked at, too. {} among the arguments is the copy."""
    if why_no_tracer(LIBRARY):
        pytest.skip(why_no_tracer(LIBRARY))
    copy = folder / "liblockswap.so"
    shutil.copy(LIBRARY, copy)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    under = environment | {"LD_PRELOAD": str(copy)} | {f"LOCKSWAP_{key.upper()}": v for key, v in locks.items()}
    said = folder / "said"
    command = ["bpftrace", *(str(a).replace("{}", str(copy)) for a in arguments)]
    with (
        said.open("w") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT) as tracer,
    ):
        try:
            wait_until_attached(tracer, said)
            with subprocess.Popen(
                [USER, str(rounds)], env=under, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            ) as user:
                assert user.stdout.readline() == "done\n"
                end_tracer(tracer)
                user.stdin.close()
        finally:
            tracer.kill()
    return said.read_text()


def counted(folder: Path, names: list[str], **how: object) -> dict[str, int]:
    script = " ".join(f"usdt:{{}}:lockswap:{name} {{ @[probe] = count(); }}" for name in names)
    text = traced(folder, "-e", script, **how)
    return {name: int(n) for name, n in re.findall(r"@\[\S+:(\w+)\]: (\d+)", text)}


# Beside the rounds: what holder and waiter do.
def entries_in(rounds: int) -> dict[str, int]:
    return {
        "mutex_entry": rounds + 2,
        "mutex_timedlock_entry": rounds,
        "mutex_release": 3 * rounds + 2,
        "rdlock_entry": rounds + 1,
        "wrlock_entry": rounds + 3,
        "rwlock_unlock": 2 * rounds + 4,
        "cond_signal": rounds,
    }


@pytest.mark.parametrize("locks", [{}, {"rwlock": "bravo-ba", "mutex": "eventual"}])
def test_a_tracer_sees_each_entry_also_of_glibcs_locks(tmp_path: Path, locks: dict[str, str]) -> None:
    assert counted(tmp_path, list(entries_in(0)), rounds=1000, **locks) == entries_in(1000)


@pytest.mark.full  # a tracer takes a tenth of a second for each of the 300 places
@pytest.mark.parametrize("rwlock, mutex", [("bravo-ba", "eventual"), ("pf-t", "mcs"), ("rlu", "ticket")])
@pytest.mark.parametrize("wait", ["park", "yield"])
def test_a_tracer_sees_each_acquisition(tmp_path: Path, rwlock: str, mutex: str, wait: str) -> None:
    n = 1000
    assert counted(tmp_path, list(ACQUIRED), rounds=n, rwlock=rwlock, mutex=mutex, wait=wait) == {
        "mutex_acquired": 2 * n + 2,
        "mutex_timedlock_acquired": n,
        "rdlock_acquire_read": n + 1,
        "wrlock_acquire_write": n + 3,
    }


def test_a_tracer_sees_acquisitions_in_time(tmp_path: Path) -> None:
    # The probe with one place only.
    names = ["mutex_timedlock_acquired"]
    assert counted(tmp_path, names, rounds=10, mutex="mcs") == {"mutex_timedlock_acquired": 10}
    assert counted(tmp_path, names, rounds=10) == {}


@pytest.mark.parametrize("rwlock, mutex", [("bravo-ba", "eventual"), ("ba", "mcs")])
def test_the_script_of_waits_names_lock_and_caller(tmp_path: Path, rwlock: str, mutex: str) -> None:
    text = traced(tmp_path, SCRIPTS / "lock-waits.bt", "{}", rwlock=rwlock, mutex=mutex)
    found = re.findall(r"@total_us\[(\w+), \S+, (\S+)\]: (\d+)", text)
    # On a busy machine others may take as long.
    long = {(mode, re.sub(r"\+\d+$", "", where)) for mode, where, us in found if int(us) >= 20_000}
    assert long >= {("mutex", "waits_for_the_mutex"), ("read", "waits_to_read"), ("write", "waits_to_write")}, text


@pytest.mark.parametrize("locks", [{}, {"rwlock": "ba", "mutex": "eventual"}])
def test_the_script_of_holds_names_the_longest(tmp_path: Path, locks: dict[str, str]) -> None:
    text = traced(tmp_path, SCRIPTS / "lock-holds.bt", "{}", **locks)
    found = re.findall(r"@longest_us\[(\w+), \S+, (\S+)\]: (\d+)", text)
    long = {(mode, re.sub(r"\+\d+$", "", where)) for mode, where, us in found if int(us) >= 20_000}
    assert long >= {("mutex", "holds_long"), ("write", "holds_long")}, text
    assert {mode for mode, _, _ in found} == {"mutex", "read", "write"}, text
