"""`lockswap fuzz`: five programs with real races, what is not a failure, seeds that repeat, and bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from measure import BUILD, RACES, ROOT, WRONG, one_plain

LIBRARY = BUILD / "liblockswap-fuzz.so"


def lockswap(*words: object, **env: str) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    return subprocess.run(
        [sys.executable, "-m", "lockswap", *map(str, words)],
        capture_output=True,
        text=True,
        env=clean | {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)} | env,
        timeout=120,
    )


def fuzz(*words: object) -> tuple[int, dict]:
    done = lockswap("fuzz", "--json", "--timeout", 1, "--same-output", *words)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("race", WRONG)
def test_a_race_is_found(race):
    for _ in range(3):
        status, found = fuzz("--seed", 1, "--runs", 60, "--again", 2, "--", RACES, race)
        if status != 3 or found["seed"] is not None:
            break  # else the race has shown in the undisturbed run, as it may on a busy machine
    assert status == 3 and found["seed"] is not None, found
    assert found["failure"].startswith(WRONG[race]), found
    assert found["of"] == 2


@pytest.mark.parametrize("more", [(), ("--spurious",)])
def test_a_right_program_is_not_reported(more):
    status, found = fuzz("--seed", 1, "--runs", 8, "--timeout", 20, *more, "--", RACES, "right")
    assert status == 0 and found["failure"] is None


def test_it_goes_over_other_locks():
    registry = json.loads(lockswap("list", "--json").stdout)
    rwlock, mutex = (
        next(row["name"] for row in registry[kind] if row["compared_by_default"] and not row["passes_through"])
        for kind in ("rwlocks", "mutexes")
    )
    locks = ("--rwlock", rwlock, "--mutex", mutex)
    status, found = fuzz("--seed", 1, "--runs", 4, "--timeout", 20, *locks, "--", RACES, "right")
    assert status == 0 and found["failure"] is None
    status, found = fuzz("--seed", 1, "--runs", 60, "--again", 0, *locks, "--", RACES, "order")
    assert status == 3 and found["failure"].startswith("hang")


def decisions(tmp_path, name: str, seed: int) -> list[str]:
    trace = tmp_path / name
    # Its waits come by chance; what a thread does between them does not.
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": f"{seed},percent=20,trace={trace}"}
    subprocess.run([RACES, "update"], env=env, check=True, capture_output=True, timeout=60)
    return sorted(trace.read_text().splitlines())


def test_a_seed_repeats_the_decisions(tmp_path):
    one = decisions(tmp_path, "one", 7)
    assert len({line.split()[0] for line in one}) >= 2  # threads
    assert any(line.split()[3] != "0" for line in one)
    assert decisions(tmp_path, "again", 7) == one
    assert decisions(tmp_path, "other", 8) != one


def test_without_a_seed_nothing_is_disturbed():
    env = {k: v for k, v in os.environ.items() if k != "LOCKSWAP_FUZZ"} | {"LD_PRELOAD": str(LIBRARY)}
    done = subprocess.run([RACES, "right"], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "")


@pytest.mark.parametrize("value", ["x", "1,", "1,percent=0", "1,delay=0", "1,often", "1,trace=/no/folder/x"])
def test_a_wrong_variable_is_told_in_a_line(value):
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": value}
    done = subprocess.run([RACES, "right"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("lockswap: LOCKSWAP_FUZZ=")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--runs", 0, "--", RACES),
        ("--seed", "x", "--", RACES),
        ("--", "/no/such/program"),
        ("--rwlock", "no", "--", RACES),
        (),
    ],
)
def test_bad_input_is_status_2(words):
    done = lockswap("fuzz", *words)
    assert done.returncode == 2 and "Traceback" not in done.stderr and done.stderr


def test_what_fails_undisturbed_is_said_at_once():
    done = lockswap("fuzz", "--runs", 1, "--", "/bin/sh", "-c", "kill -SEGV $$")
    assert done.returncode == 3 and "fails undisturbed: crash: SIGSEGV" in done.stderr


def test_a_sanitizer_s_report_is_a_failure(tmp_path):
    source = tmp_path / "late.c"
    source.write_text(
        "#include <pthread.h>\n#include <stdlib.h>\n"
        "int main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; volatile int *p = malloc(4);\n"
        'if (getenv("LOCKSWAP_FUZZ")) free((void *)p); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n'
        '*p = 1; if (!getenv("LOCKSWAP_FUZZ")) free((void *)p); return 0; }\n'
    )
    program = tmp_path / "late"
    subprocess.run(["gcc", "-fsanitize=address", "-g", source, "-o", program, "-lpthread"], check=True)
    done = lockswap("fuzz", "--runs", 1, "--again", 1, "--", program)
    assert done.returncode == 3, done.stderr
    assert "sanitizer: " in done.stderr and "heap-use-after-free" in done.stderr


@pytest.mark.full
@pytest.mark.parametrize("race", WRONG)
def test_it_takes_a_tenth_of_the_runs_of_plain_repetition(race):
    from measure import measure

    plain, seen, disturbed = measure(race, seeds=5, cap=3000)
    assert disturbed * 10 <= plain, f"{race}: plain {plain} runs for {seen} failures each, fuzz {disturbed}"


def test_the_undisturbed_program_ends(tmp_path):
    # Else the programs would show nothing of fuzz.
    for race in WRONG:
        assert sum(one_plain(race) for _ in range(3)) <= 1, race
