"""`lockswap fuzz`: five programs with real races, what is not a failure, seeds that repeat, and bad input."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import BUILD, RACES, ROOT, WRONG, failures_of_turns, one_plain

import command_server

LIBRARY = BUILD / "liblockswap-fuzz.so"


def lockswap(*words: object, **env: str) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSWAP_")}
    clean |= {"PYTHONPATH": str(ROOT / "harness"), "LOCKSWAP_HOME": str(ROOT)}
    return command_server.run(*words, env=clean | env)


def fuzz(*words: object) -> tuple[int, dict]:
    done = lockswap("fuzz", "--json", "--same-output", *words)
    assert done.returncode in (0, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("race", WRONG)
def test_a_race_is_found(race):
    for _ in range(20):
        status, found = fuzz("--seed", 1, "--runs", 150, "--again", 2, "--", RACES, race)
        if status != 3 or found["seed"] is not None:
            break  # else the race has shown in the undisturbed run, as it may on a busy machine
    assert status == 3 and found["seed"] is not None, found
    assert found["failure"].startswith(WRONG[race]), found
    assert found["of"] == 2


@pytest.mark.parametrize("more", [(), ("--spurious",)])
def test_a_right_program_is_not_reported(more):
    status, found = fuzz("--seed", 1, "--runs", 8, *more, "--", RACES, "right")
    assert status == 0 and found["failure"] is None


def test_it_goes_over_other_locks():
    registry = json.loads(lockswap("list", "--json").stdout)
    rwlock, mutex = (
        next(row["name"] for row in registry[kind] if row["compared_by_default"] and not row["passes_through"])
        for kind in ("rwlocks", "mutexes")
    )
    locks = ("--rwlock", rwlock, "--mutex", mutex)
    status, found = fuzz("--seed", 1, "--runs", 4, *locks, "--", RACES, "right")
    assert status == 0 and found["failure"] is None
    status, found = fuzz("--seed", 1, "--runs", 60, "--again", 0, *locks, "--", RACES, "order")
    assert status == 3 and found["failure"].startswith("hang")


def decisions(tmp_path, name: str, seed: int) -> list[str]:
    trace = tmp_path / name
    # Its waits come by chance; what a thread does between them does not.
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": f"{seed},percent=20,trace={trace}"}
    subprocess.run([RACES, "update"], env=env, check=True, capture_output=True)
    return sorted(trace.read_text().splitlines())


def test_a_seed_repeats_the_decisions(tmp_path):
    one = decisions(tmp_path, "one", 7)
    assert len({line.split()[0] for line in one}) >= 2  # threads
    assert any(line.split()[3] != "0" for line in one)
    assert decisions(tmp_path, "again", 7) == one
    assert decisions(tmp_path, "other", 8) != one


DELAY, NOTHING, BEGIN = "2", "0", "8"  # as numbers in a trace: two acts, and the point at which a thread begins


def traced(tmp_path, settings: str, command: list) -> list[list[str]]:
    """Thread, its count of points, kind of point, act and amount."""
    trace = tmp_path / "trace"
    trace.unlink(missing_ok=True)
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": f"{settings},trace={trace}"}
    subprocess.run(command, env=env, check=True, capture_output=True)
    return [line.split() for line in trace.read_text().splitlines()]


def test_each_thread_has_decisions_of_its_own(tmp_path):
    began = [words[0] for words in traced(tmp_path, "7", [RACES, "right"]) if words[2] == BEGIN]
    assert len(began) == len(set(began)) == 2, began


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_percentage_is_that_of_disturbed_points(tmp_path, seed):
    def share(percent: int) -> float:
        points = traced(tmp_path, f"{seed},percent={percent},delay=1", [RACES, "right"])
        return sum(words[3] != NOTHING for words in points) / len(points)

    # A kind of point may be preferred, and stretches left alone.
    assert share(1) < 0.1 and share(100) > 0.4


def test_delays_are_as_long_as_the_trace_says(tmp_path):
    began = time.monotonic()
    points = traced(tmp_path, "1,percent=100,delay=3000", [RACES, "right"])
    took = time.monotonic() - began
    delays = [sum(int(words[4]) for words in points if words[0] == name and words[3] == DELAY) for name in
              {words[0] for words in points}]  # fmt: skip
    assert max(delays) >= 20_000  # us: so much that a run without delays isn't as long by itself
    assert took >= max(delays) / 1e6


def test_a_program_that_locks_often_comes_to_its_end(tmp_path):
    program = compiled(
        tmp_path / "often",
        "#include <pthread.h>\nint main(void) { static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "for (int i = 0; i < 5000; ++i) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } return 0; }\n",
    )
    points = traced(tmp_path, "2,percent=60,budget=20", [program])
    assert len(points) == 20_000
    assert 10_000 <= sum(int(words[4]) for words in points if words[3] == DELAY) <= 400_000  # us
    assert any(words[3] != NOTHING for words in points[10_000:])  # they are fewer, but don't end


ALLOWED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
int main(void) {
  static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  cpu_set_t before, after;
  sched_getaffinity(0, sizeof before, &before);
  for (int i = 0; i < 300; ++i) {
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
  }
  sched_getaffinity(0, sizeof after, &after);
  return !CPU_EQUAL(&before, &after);
}
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="a thread has nowhere to move to")
def test_a_moved_thread_may_run_where_it_might_before(tmp_path):
    source, program = tmp_path / "allowed.c", tmp_path / "allowed"
    source.write_text(ALLOWED)
    subprocess.run(["gcc", source, "-o", program, "-pthread"], check=True)
    traced(tmp_path, "1,percent=100,delay=1", [program])


def test_the_trace_leaves_the_program_s_files_alone(tmp_path):
    source = tmp_path / "files.c"
    source.write_text(
        "#define _GNU_SOURCE\n#include <fcntl.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "static void use(void) { for (int i = 0; i < 100; ++i) pthread_mutex_lock(&m), pthread_mutex_unlock(&m); }\n"
        "int main(int argc, char** argv) { use(); (void)argc;\n"
        'printf("%d\\n", open(argv[1], O_RDWR | O_CREAT, 0600)); fflush(stdout);\n'
        "close_range(3, ~0u, 0); const int fd = open(argv[1], O_RDWR);\n"
        "while (dup(fd) >= 0) {} use(); return (int)lseek(fd, 0, SEEK_END); }\n"
    )
    program, mine, trace = tmp_path / "files", tmp_path / "mine", tmp_path / "trace"
    subprocess.run(["gcc", source, "-o", program, "-lpthread"], check=True)
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": f"1,trace={trace}"}
    done = subprocess.run([program, mine], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "lines of the trace are in the program's file"
    assert done.stdout == "3\n" and mine.read_text() == ""
    assert "the trace is incomplete" in done.stderr and len(trace.read_text().splitlines()) >= 200


def test_the_line_that_repeats_a_failure_has_its_options():
    words = ("--same-output", "--percent", 7, "--delay", 9, "--timeout", 20)
    done = lockswap("fuzz", "--seed", 5, "--again", 0, *words, "--", "/bin/sh", "-c", "echo $LOCKSWAP_FUZZ")
    again = "to see it again: --same-output --percent 7 --delay 9 --timeout 20 --seed 5 --runs 1\n"
    assert done.returncode == 3 and done.stderr.endswith(again), done.stderr


def test_options_come_to_the_library():
    words = ("--seed", 5, "--runs", 1, "--again", 0, "--percent", 7, "--delay", 9, "--budget", 8, "--spurious")
    status, found = fuzz(*words, "--", "/bin/sh", "-c", "echo $LOCKSWAP_FUZZ")
    assert status == 3 and found["failure"].startswith("differs: stdout '5,percent=7,delay=9,budget=8,spurious,live=")


def test_without_a_seed_nothing_is_disturbed():
    env = {k: v for k, v in os.environ.items() if k != "LOCKSWAP_FUZZ"} | {"LD_PRELOAD": str(LIBRARY)}
    done = subprocess.run([RACES, "right"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "40\n", "")


@pytest.mark.parametrize(
    "value", ["x", "1,", "1,percent=0", "1,delay=0", "1,budget=0", "1,turn=0", "1,often", "1,trace=/no/folder/x"]
)
def test_a_wrong_variable_is_told_in_a_line(value):
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": value}
    done = subprocess.run([RACES, "right"], env=env, capture_output=True, text=True)
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
    assert done.returncode == 3 and "fails even without delays; repair that first: crash: SIGSEGV" in done.stderr


def test_who_waits_for_the_undisturbed_run_is_told_so(tmp_path):
    """The program ends when that was said."""
    said = tmp_path / "said"
    os.mkfifo(said)
    code = "from lockswap.fuzz import fuzz; fuzz._SAY_AFTER_S = 0.1; from lockswap.cli import cli; cli()"
    words = ["fuzz", "--runs", "1", "--timeout", "6000", "--", "sh", "-c", 'test -n "$LOCKSWAP_FUZZ" || cat "$0"', said]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "harness")}
    with subprocess.Popen(
        [sys.executable, "-c", code, *words], env=environment, stderr=subprocess.PIPE, text=True
    ) as run:
        line = run.stderr.readline()
        said.write_text("")
        run.communicate()
    assert run.returncode == 0
    assert line == "lockswap fuzz: still in the run without delays, which may take 6000 s; --timeout changes that\n"


def test_of_a_static_program_it_is_said_that_nothing_was_disturbed(tmp_path):
    program = tmp_path / "static"
    subprocess.run(
        ["gcc", "-static", "-x", "c", "-", "-o", program], input="int main(void) { return 0; }", text=True, check=True
    )
    done = lockswap("fuzz", "--seed", 7, "--runs", 1, "--", program)
    assert done.returncode == 0 and "nothing was delayed" in done.stderr
    assert done.stderr.endswith("no failure in 1 run, seed 7\n"), done.stderr
    done = lockswap("fuzz", "--seed", 7, "--runs", 2, "--", "/bin/true")
    assert done.stderr == "lockswap fuzz: no failure in 2 runs, seeds 7 to 8\n"


NEEDS_A_READER = r"""
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static void* read_both(void* unused) {
  pthread_rwlock_rdlock(&l);
  pthread_barrier_wait(&both);
  pthread_rwlock_unlock(&l);
  return unused;
}
static void* write_one(void* unused) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec = at.tv_nsec / 2;
  if (pthread_rwlock_timedwrlock(&l, &at) == 0) pthread_rwlock_unlock(&l);
  pthread_rwlock_wrlock(&l);
  pthread_rwlock_unlock(&l);
  return unused;
}
int main(void) {
  pthread_t t[4];
  pthread_barrier_init(&both, 0, 2);
  pthread_rwlock_wrlock(&l);
  for (int i = 0; i < 4; ++i) pthread_create(&t[i], 0, i < 2 ? read_both : write_one, 0);
  usleep(20000);
  pthread_rwlock_unlock(&l);
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
  puts("done");
  return 0;
}
"""


def test_threadsanitizer_s_report_is_a_failure(tmp_path):
    # The lock orders the two writes as a rule; under fuzz the other thread does without.
    source = tmp_path / "race.c"
    source.write_text(
        "#include <pthread.h>\n#include <stdlib.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nstatic int shared;\n"
        "static void* add(void* locks) { if (locks) pthread_mutex_lock(&m); ++shared;\n"
        "if (locks) pthread_mutex_unlock(&m); return 0; }\n"
        'int main(void) { pthread_t t; pthread_create(&t, 0, add, getenv("LOCKSWAP_FUZZ") ? 0 : &m);\n'
        "add(&m); pthread_join(t, 0); return 0; }\n"
    )
    program = tmp_path / "race"
    subprocess.run(["gcc", "-fsanitize=thread", "-g", source, "-o", program, "-lpthread"], check=True)
    done = lockswap("fuzz", "--runs", 4, "--again", 1, "--", program)
    if "unexpected memory mapping" in done.stderr:
        pytest.skip("ThreadSanitizer cannot run under this kernel's address layout")
    assert done.returncode == 3, done.stderr
    assert "seed " in done.stderr and "sanitizer: " in done.stderr and "data race" in done.stderr


def test_ubsan_s_report_is_a_failure(tmp_path):
    source = tmp_path / "shift.c"
    source.write_text(
        "#include <limits.h>\n#include <stdlib.h>\n"
        'int main(void) { volatile int n = getenv("LOCKSWAP_FUZZ") ? INT_MAX : 1; n = n + 1; return 0; }\n'
    )
    program = tmp_path / "shift"
    subprocess.run(["gcc", "-fsanitize=undefined", "-g", source, "-o", program], check=True)
    done = lockswap("fuzz", "--runs", 1, "--again", 1, "--", program)
    assert done.returncode == 3 and "seed " in done.stderr and "signed integer overflow" in done.stderr, done.stderr


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


def compiled(program: Path, source: str, *options: object) -> Path:
    words = ["gcc", "-g", "-x", "c", "-", "-x", "none", *options, "-o", program, "-lpthread"]
    subprocess.run(words, input=source, text=True, check=True)
    return program


def test_a_program_that_never_started_has_no_good_runs(tmp_path):
    library = compiled(tmp_path / "libgone.so", "int gone(void) { return 1; }", "-shared", "-fPIC")
    program = compiled(tmp_path / "lacking", "int gone(void); int main(void) { return gone(); }", library)
    library.unlink()
    for command in ([program], ["sh", "-c", f"{program}; true"], ["env", "A=1", program], ["timeout", "600", program]):
        done = lockswap("fuzz", "--runs", 2, "--", *command)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("lockswap: nothing was run: 'lacking' cannot start, since a library is not found")
    done = lockswap("fuzz", "--runs", 2, "--", "sh", "-c", "/no/such/program")
    assert done.returncode == 2 and "nothing was run: it ended with exit status 127" in done.stderr


ENDS = {
    "usual status": ("exit 5", 0, "no failure in 2 runs, seeds 1 to 2; each ended with exit status 5"),
    "another status": ('test -z "$LOCKSWAP_FUZZ"', 3, "exit status 1 in each run, 0 without delays: a race would not"),
    "status of a crash": ('test -z "$LOCKSWAP_FUZZ" || exit 139', 3, "crash: it ended with exit status 139, which "),
    "crash undisturbed": ("sh -c 'kill -11 $$'; exit $?", 3, "without delays; repair that first: crash: it ended with"),
}


@pytest.mark.parametrize("how", ENDS)
def test_how_runs_ended_is_said(how):
    script, status, says = ENDS[how]
    done = lockswap("fuzz", "--seed", 1, "--runs", 2, "--again", 0, "--", "sh", "-c", script)
    assert done.returncode == status and says in done.stderr, done


def test_a_crash_that_a_shell_passes_over_is_a_failure():
    crash = "sh -c 'kill -SEGV $$'"
    done = lockswap("fuzz", "--runs", 2, "--again", 1, "--", "sh", "-c", f"{crash}; true")
    assert done.returncode == 0
    assert "; not known: a child process crashes without delays, too" in done.stderr
    in_runs = f'case "$LOCKSWAP_FUZZ" in ""|0,*) ;; *) {crash} ;; esac; true'
    done = lockswap("fuzz", "--runs", 2, "--again", 1, "--", "sh", "-c", in_runs)
    assert done.returncode == 3
    assert re.search(r": crash: process \d+, a child of sh \(\d+\), ended by SIGSEGV", done.stderr), done.stderr
    assert "fails in 1 of 1 more runs" in done.stderr


def test_a_time_limit_of_the_command_is_a_hang(tmp_path):
    limit = tmp_path / "timeout"  # one that is over at once
    limit.write_text('#!/bin/sh\ntest -z "$LOCKSWAP_FUZZ" || exit 124\n')
    limit.chmod(0o755)
    done = lockswap("fuzz", "--seed", 1, "--runs", 1, "--again", 0, "--", limit, "5", "true")
    assert done.returncode == 3 and "hang: it ended with exit status 124: the time limit" in done.stderr, done


RIGHT = """
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int made, items, shared;
static void make(void) { made = 1; }
static void *work(void *puts_items) {
  pthread_once(&once, make);
  for (int i = 0; i < 20; ++i) {
    pthread_rwlock_rdlock(&l);
    int seen = shared;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_wrlock(&l);
    shared = seen + made;
    pthread_rwlock_unlock(&l);
    pthread_mutex_lock(&m);
    if (puts_items) {
      ++items;
      pthread_cond_signal(&c);
    } else {
      while (!items) pthread_cond_wait(&c, &m);
      --items;
    }
    pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 4; ++i) pthread_create(&t[i], 0, work, (void *)(i & 1));
  for (int i = 0; i < 4; ++i) pthread_join(t[i], 0);
  puts("done");
  return 0;
}
"""


@pytest.fixture(scope="module", params=["address", "thread"])
def sanitized(request, tmp_path_factory) -> Path:
    """A right program; it runs alone."""
    folder = tmp_path_factory.mktemp(request.param)
    try:
        program = compiled(folder / "right", RIGHT, f"-fsanitize={request.param}")
    except subprocess.CalledProcessError:
        pytest.skip(f"gcc has no runtime of -fsanitize={request.param}")
    if subprocess.run([program], capture_output=True).returncode != 0:
        pytest.skip("the sanitizer cannot run under this kernel's address layout")
    script = folder / "script"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    return program


# How a sanitized program is started.
STARTS = {
    "itself": ["{program}"],
    "env": ["env", "A=1", "{program}"],
    "shell": ["sh", "-c", "{program}; exit $?"],
    "script": ["{program.parent}/script"],
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("command", ["audit", "profile", "run", "policy", "fuzz"])
def test_a_sanitized_program_that_is_right_runs_under(command, start, sanitized):
    registry = json.loads(lockswap("list", "--json").stdout)
    rwlock, mutex = (
        next(row["name"] for row in registry[kind] if row["compared_by_default"] and not row["passes_through"])
        for kind in ("rwlocks", "mutexes")
    )
    words = {
        "audit": ["audit"],
        "profile": ["profile"],
        "run": ["run", "--rwlock", rwlock, "--mutex", mutex],
        "policy": ["policy", "check", f"rwlock={rwlock} mutex={mutex}"],
        "fuzz": ["fuzz", "--seed", 1, "--runs", 4, "--again", 0, "--timeout", 500],
    }[command]
    line = [word.format(program=sanitized) for word in STARTS[start]]
    done = lockswap(*words, "--", *line)
    if "thread" in sanitized.parent.name and command in ("run", "policy") and start not in ("itself", "env"):
        # The runtime cannot be preloaded into a shell, so this is said before.
        assert "'right' is built with ThreadSanitizer" in done.stderr
        return
    assert done.returncode == 0 and "Sanitizer" not in done.stderr, done.stderr
    assert command == "fuzz" or done.stdout == "done\n"


@pytest.mark.parametrize("tool", ["helgrind", "drd"])
@pytest.mark.parametrize("command", ["audit", "profile"])
def test_valgrind_reports_nothing_of_lockswap_s(command, tool, tmp_path):
    if shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    # A mutex alone: of pthread_once and the like the tools have reports of their own.
    program = compiled(
        tmp_path / "right",
        "#include <pthread.h>\n#include <stdio.h>\n"
        "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nstatic int n;\n"
        "static void *add(void *a) { for (int i = 0; i < 20; ++i) { pthread_mutex_lock(&m); ++n;"
        " pthread_mutex_unlock(&m); } return a; }\n"
        "int main(void) { pthread_t t[2]; for (int i = 0; i < 2; ++i) pthread_create(&t[i], 0, add, 0);\n"
        'for (int i = 0; i < 2; ++i) pthread_join(t[i], 0); puts(n == 40 ? "done" : "lost"); return 0; }\n',
    )
    line = ["valgrind", f"--tool={tool}", "--error-exitcode=9", program]
    done = lockswap(command, "--", *line)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_race_detector_of_valgrind_under_swapped_locks_is_warned_of(tmp_path):
    tool = tmp_path / "valgrind"
    tool.write_text("#!/bin/sh\necho $VALGRIND_OPTS\n")
    tool.chmod(0o755)
    done = lockswap("run", "--mutex", "mcs", "--", tool, "--tool=drd", "true", VALGRIND_OPTS="--quiet")
    assert "warning: drd does not see lockswap's locks" in done.stderr
    assert done.stdout == f"--quiet --suppressions={ROOT}/packaging/lockswap.supp\n"
    done = lockswap("run", "--mutex", "mcs", "--", tool, "--tool=memcheck", "true")
    assert "does not see" not in done.stderr


@pytest.mark.parametrize("words", [(), ("signal",)])
def test_who_goes_next_is_chosen(words):
    # A wrong order in twelve, in three seeds of four: without a choice it is never seen, as the threads wake in line.
    # A thread waits for its turn for as long as it takes, since on a busy machine the four come late.
    assert failures_of_turns(100, ",turn=1000000", words=words) >= 3
    assert failures_of_turns(20, ",no-turns", words=words) == 0


# Seeds that choose who goes next: a thread's number is its for the whole run, or another one in each wait.
@pytest.mark.parametrize("seed", [1, 3])
def test_condition_variables_keep_their_contract(seed):
    # Cancellation, deadlines, broadcasts, destruction. Not how soon, since a turn may be a stopped thread's; a seed's
    # choice takes the place of priorities; and a mutex does not know that a thread waits with it.
    env = os.environ | {"LOCKSWAP_FUZZ": f"{seed},percent=1,delay=20"}
    command = [BUILD / "tests/conformance/mutex_conformance", "--preload", LIBRARY, "--rwlock", "none"]
    command += ["--only", "Cond*", "--without", "CondRelease.@(*Priorit*|*Stopped*|DestroyingTheMutexOfWaiters)"]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_holder_that_needs_a_waiter_goes_on(tmp_path):
    # The thread with the greatest number can't go in while this one, which has a read hold, waits for another reader.
    source, program = tmp_path / "readers.c", tmp_path / "readers"
    source.write_text(NEEDS_A_READER)
    subprocess.run(["gcc", source, "-o", program, "-pthread"], check=True)
    status, found = fuzz("--seed", 1, "--runs", 12, "--", program)
    assert status == 0 and found["failure"] is None


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


def test_who_has_the_lock_is_told_at_once(tmp_path):
    # A thread does not wait for its turn at what it has itself.
    source, program = tmp_path / "own.c", tmp_path / "own"
    source.write_text(
        "#define _GNU_SOURCE\n#include <errno.h>\n#include <pthread.h>\n"
        "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;\n"
        "static pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;\n"
        "int main(void) { pthread_rwlock_wrlock(&l); pthread_mutex_lock(&m);\n"
        "for (int i = 0; i < 20; ++i) if (pthread_rwlock_wrlock(&l) != EDEADLK ||\n"
        "pthread_rwlock_rdlock(&l) != EDEADLK || pthread_mutex_lock(&m) != EDEADLK) return 1;\n"
        "return 0; }\n"
    )
    subprocess.run(["gcc", source, "-o", program, "-pthread"], check=True)
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": "1,percent=1,delay=20"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
    subprocess.run([program], env=env, check=True)
    # Else each of the 60 calls would look again and again for a second.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before < 60


# Each timed call on a lock that another thread has, with 10 ms: the shortest of some, in milliseconds.
TIMED = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static int timed(int form) {
  const clockid_t clock = form % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  struct timespec at;
  clock_gettime(clock, &at);
  at.tv_nsec += 10000000;
  if (at.tv_nsec >= 1000000000) ++at.tv_sec, at.tv_nsec -= 1000000000;
  switch (form) {
    case 0: return pthread_mutex_timedlock(&m, &at);
    case 1: return pthread_mutex_clocklock(&m, clock, &at);
    case 2: return pthread_rwlock_timedrdlock(&l, &at);
    case 3: return pthread_rwlock_clockrdlock(&l, clock, &at);
    case 4: return pthread_rwlock_timedwrlock(&l, &at);
    default: return pthread_rwlock_clockwrlock(&l, clock, &at);
  }
}
static void* wait_for_them(void* unused) {
  for (int form = 0; form < 6; ++form) {
    long shortest = 1000000;
    for (int i = 0; i < 5 && shortest >= 500; ++i) {
      const long begin = now();
      if (timed(form) != ETIMEDOUT) puts("no time-out");
      if (now() - begin < shortest) shortest = now() - begin;
    }
    printf("%ld ", shortest);
  }
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_mutex_lock(&m);
  pthread_rwlock_wrlock(&l);
  pthread_create(&t, 0, wait_for_them, 0);
  pthread_join(t, 0);
  return 0;
}
"""


def test_a_timed_call_is_not_much_later_than_its_deadline(tmp_path):
    env = os.environ | {"LD_PRELOAD": str(LIBRARY), "LOCKSWAP_FUZZ": "1"}
    program = compiled(tmp_path / "timed", TIMED)
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=True)
    shortest = [int(ms) for ms in done.stdout.split()]
    assert len(shortest) == 6 and min(shortest) >= 10
    # A call without a deadline stays in the gate for a second.
    assert max(shortest) < 500, shortest
