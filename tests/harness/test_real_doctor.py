"""`lockswap doctor` and `lockswap off` of processes with the library as it is built."""

import json
import os
import re
import subprocess
import sys

import pytest

import command_server
from harness_support import NATIVE, ROOT, Lockswap, compile_c

LIBRARY = ROOT / "build/liblockswap.so"
pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the library is not built")
USER = """
#include <pthread.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void use(void) { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); }
"""


@pytest.fixture
def ask():
    command = Lockswap(ROOT)

    def run(pid: int) -> tuple[int, dict[str, list[tuple[str, str]]]]:
        """The exit status, and levels and texts by check."""
        done = command("doctor", "--json", pid)
        found: dict[str, list[tuple[str, str]]] = {}
        for one in json.loads(done.stdout)["findings"]:
            found.setdefault(one["check"], []).append((one["level"], one["text"]))
        return done.returncode, found

    return run


@pytest.fixture
def start(tmp_path):
    program = tmp_path / "sleeper"
    compile_c(NATIVE / "sleeper.c", program, "-pthread", "-ldl")
    started = []

    def run(*arguments: object, **env: str) -> int:
        env = {"LD_PRELOAD": str(LIBRARY), **env}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("LOCKSWAP_")}
        one = subprocess.Popen([program, *map(str, arguments)], stdout=subprocess.PIPE, env=clean | env)
        started.append(one)
        assert one.stdout.readline() == b"ready\n", one.wait()
        return one.pid

    yield run
    for one in started:
        one.kill()
        one.communicate()


def test_what_runs_since_when_and_what_is_not_recorded(ask, start):
    status, found = ask(start(LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto"))
    assert status == 0
    ((level, text),) = found["choice"]
    assert level == "ok" and re.search(r"rwlock \S+ \(auto\).* mutex \S+ \(auto\).* since 20\d\d-\d\d-\d\d \d", text)
    assert found["locks"][0][0] == "note"
    assert "bypassed" not in found and "futex" not in found


def test_nothing_swapped_stops(ask, start):
    status, found = ask(start())
    assert status == 1 and "nothing is swapped" in found["choice"][1][1]


def test_a_recorded_process_says_which_locks_it_has(ask, start, tmp_path):
    status, found = ask(start(LOCKSWAP_MUTEX="auto", LOCKSWAP_PROFILE=str(tmp_path)))
    assert status == 0 and "1 mutex" in found["locks"][0][1]


def test_other_preloads_are_named(ask, start, tmp_path):
    (tmp_path / "other.c").write_text("int other;\n")
    other = tmp_path / "libother.so"
    compile_c(tmp_path / "other.c", other, "-shared", "-fPIC")
    status, found = ask(start(LD_PRELOAD=f"{LIBRARY}:{other}", LOCKSWAP_MUTEX="auto"))
    assert status == 0 and str(other) in found["preload"][0][1]


def test_a_library_that_was_opened_deep_is_named(ask, start, tmp_path):
    (tmp_path / "user.c").write_text(USER)
    compile_c(tmp_path / "user.c", tmp_path / "libdeep.so", "-shared", "-fPIC", "-Wl,-z,now")
    status, found = ask(start("deep", tmp_path / "libdeep.so", LOCKSWAP_MUTEX="auto"))
    assert status == 1
    ((level, text),) = found["bypassed"]
    assert level == "stops" and text.startswith("libdeep.so calls pthread_mutex_") and "RTLD_DEEPBIND" in text
    # The same, where mutexes are glibc's.
    _, found = ask(start("deep", tmp_path / "libdeep.so", LOCKSWAP_RWLOCK="auto"))
    assert "bypassed" not in found


def test_off_is_said_once_and_seen_by_the_doctor(ask, start):
    pid = start(LOCKSWAP_MUTEX="auto")
    first, second = Lockswap(ROOT)("off", pid), Lockswap(ROOT)("off", pid)
    assert first.returncode == second.returncode == 0
    assert "is switched off:" in first.stdout and "switched off already" in second.stdout
    status, found = ask(pid)
    assert status == 1 and "new locks are glibc's" in found["off"][0][1]


def test_off_is_refused_to_another_user(start):
    if os.geteuid() != 0:
        pytest.skip("needs root, to ask as another user")
    pid = start(LOCKSWAP_MUTEX="auto")
    script = f"""
import os
from lockswap.doctor import asked
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
asked.Memory({pid}, writes=True)
"""
    done = subprocess.run([sys.executable, "-c", script], env=Lockswap(ROOT).env, capture_output=True, text=True)
    assert done.returncode == 1 and "PermissionError" in done.stderr


def test_it_is_fast(start):
    """Processor time of the whole command, the least of three, beside another command's: the machine may be busy."""
    pid = start(LOCKSWAP_RWLOCK="auto", LOCKSWAP_MUTEX="auto")
    command = Lockswap(ROOT)

    def cost(*words: object) -> float:
        for _ in range(3):
            command(*words)
        return min(command_server.used[-3:])

    usual = cost("list")
    for words in ((), ("--", "sort"), (pid,)):
        spent = cost("doctor", *words)
        assert 0 < spent < 2 * usual, f"{words}: {spent} s, and 'lockswap list' {usual} s"
