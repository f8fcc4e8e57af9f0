"""What runs the cases must notice crashes, hangs, other results, locks that were not taken, processes left over."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
sys.path.insert(0, str(HERE))

from programs import SKIPPED  # noqa: E402
from suite import stage as on_stage  # noqa: E402
from suite.case import WAITS, Case, all_cases  # noqa: E402
from suite.choice import IN_A_SAMPLE, combinations, sample  # noqa: E402
from suite.place import Place, own_folder  # noqa: E402
from suite.progress import Progress  # noqa: E402
from suite.stage import Stage, Under  # noqa: E402
from suite.trial import Trial  # noqa: E402

OURS = BUILD / "tests/programs"
UNDER = 'test -z "$LD_PRELOAD" ||'  # in sh: do what follows only with the library


def a_case(play, acquisitions=0, limit=60.0, waits=("park",), mutexes=0) -> Case:
    return Case("tried", play, (), (), acquisitions, 0, True, waits, limit, mutexes)


@pytest.fixture
def verdict(tmp_path, capsys):
    """Holds a trial under ba; whether it was good, and what was printed."""

    def hold(play, under="ba", **about) -> tuple[bool, str]:
        good = Trial(Place(BUILD, BUILD / "liblockswap.so"), a_case(play, **about), tmp_path).hold(
            [Under(under, "park")]
        )
        return good, capsys.readouterr().out

    return hold


def failure(verdict, play, **about) -> str:
    good, text = verdict(play, **about)
    assert not good
    line = next(line for line in text.splitlines() if line.startswith("FAILED"))
    assert "tried under ba, park" in line
    assert "output in" in line
    return line


def test_a_good_program_passes_and_its_acquisitions_are_shown(verdict, tmp_path):
    good, text = verdict(lambda s: s.same(s.swapped(OURS / "known_counts").stdout), acquisitions=1000)
    assert good, text
    assert "1,007 reads, 7 writes" in text
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]  # outputs are kept of failures only


def run_redis(folder: Path, registry: str, *absent: str) -> subprocess.CompletedProcess:
    return run_case(folder, "redis", registry, *absent)


def run_case(folder: Path, case: str, registry: str, *absent: str) -> subprocess.CompletedProcess:
    """`programs.py run` of a case, in a build tree with only these."""
    (folder / "bin").mkdir()
    (folder / "programs").mkdir()
    (folder / "programs/absent").write_text("".join(f"{name}\n" for name in absent))
    (folder / "bin/lockswap-registry").write_text(f"#!/bin/sh\necho '{registry}'\n")
    (folder / "bin/lockswap-registry").chmod(0o755)
    words = [sys.executable, HERE / "programs.py", "run", folder, case]
    return subprocess.run(words, capture_output=True, text=True, env={"PATH": "/nowhere"})


def test_a_case_is_skipped_if_the_distribution_lacks_its_package(tmp_path):
    done = run_redis(tmp_path, '{"rwlocks": [{"name": "ba"}], "mutexes": [{"name": "mcs"}]}', "varnish", "redis-server")
    assert (done.returncode, done.stderr) == (SKIPPED, "")
    assert done.stdout == "skipped redis: not to be had here: redis-server\n"


def test_a_case_is_not_skipped_for_packages_of_others(tmp_path):
    done = run_redis(tmp_path, '{"rwlocks": [{"name": "ba"}], "mutexes": [{"name": "mcs"}]}', "varnish")
    assert done.returncode == 1
    assert "FAILED  redis" in done.stdout


def test_a_case_is_skipped_if_its_program_could_not_be_fetched(tmp_path):
    registry = '{"rwlocks": [{"name": "ba"}], "mutexes": [{"name": "mcs"}]}'
    done = run_case(tmp_path, "test_rwlock", registry, "fetch:liburcu")
    assert (done.returncode, done.stdout) == (SKIPPED, "skipped test_rwlock: not to be had here: fetch:liburcu\n")


def test_a_crash(verdict):
    assert "died by SIGSEGV" in failure(verdict, lambda s: s.swapped("sh", "-c", f"{UNDER} kill -SEGV $$"))


def test_a_bad_status_with_the_last_line(verdict):
    line = failure(verdict, lambda s: s.swapped("sh", "-c", f"{UNDER} {{ echo no luck >&2; exit 3; }}"))
    assert "status 3: no luck" in line


def test_another_result(verdict):
    line = failure(verdict, lambda s: s.same(s.swapped("sh", "-c", "echo one; echo ${LOCKSWAP_RWLOCK:-plain}").stdout))
    assert "line 2 is 'ba', not 'plain'" in line


def test_a_check_of_its_own(verdict):
    assert "oh dear" in failure(verdict, lambda s: s.need(s.under is None, "oh dear"))


def test_output_that_the_check_does_not_understand(verdict):
    line = failure(verdict, lambda s: int(s.swapped("sh", "-c", f"echo 1; {UNDER} echo x").stdout))
    assert "cannot be checked (ValueError" in line


def test_a_hang_is_ended_and_described(verdict, tmp_path, monkeypatch):
    class Hurried(Progress):
        def is_over(self) -> bool:
            if not any(process.name == "sleep" for process in self._brood.alive()):
                return False
            self._idle_s = 1.0
            return super().is_over()

    monkeypatch.setattr(on_stage, "Progress", Hurried)
    line = failure(verdict, lambda s: s.swapped("sh", "-c", f"{UNDER} sleep 1000"))
    assert "hang" in line
    stuck = (tmp_path / "ba-park/stuck.txt").read_text()
    assert "sleep" in stuck
    assert "thread" in stuck


def test_a_program_that_goes_round_is_ended(verdict):
    """However long it takes by the clock."""
    assert "hang" in failure(verdict, lambda s: s.swapped("sh", "-c", f"{UNDER} while :; do :; done"), limit=0.5)


def test_a_process_left_behind(verdict):
    line = failure(verdict, lambda s: s.swapped("sh", "-c", f"{UNDER} {{ setsid sleep 1000 >/dev/null 2>&1 & }}"))
    assert "left processes behind: sleep" in line


def test_too_few_acquisitions(verdict):
    line = failure(verdict, lambda s: s.swapped(OURS / "known_counts"), acquisitions=10**9)
    assert "at least 1000000000 were expected" in line


def test_mutexes_are_counted_where_they_are_swapped(verdict):
    def play(stage: Stage) -> None:
        stage.swapped("zstd", "-T4", "-q", "-B1MiB", "-k", stage.write("text", "a line\n" * 1_000_000))

    good, text = verdict(play, under="mutex:mcs", mutexes=10)
    assert good, text
    assert "acquisitions of" in text
    good, text = verdict(play, under="mutex:mcs", mutexes=10**9)
    assert not good
    assert "at least 1000000000 were expected: are they bypassed?" in text
    # Under rwlocks alone nobody counts mutexes, and so nobody expects any.
    good, text = verdict(play, mutexes=10**9)
    assert good, text


def test_a_program_without_the_library(verdict):
    line = failure(verdict, lambda s: s.swapped("sh", "-c", f"exec env -u LD_PRELOAD {OURS}/says_main"))
    assert "no process wrote statistics" in line


def test_what_fails_without_the_library_is_said_to(verdict):
    good, text = verdict(lambda s: s.swapped("sh", "-c", "exit 4"))
    assert not good
    assert "without the library" in text
    assert "status 4" in text


def test_a_program_that_is_not_there(verdict):
    good, text = verdict(lambda s: s.swapped("no-such-program"))
    assert not good
    assert "no-such-program is not there" in text


SERVER = """
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    word = connection.recv(100)
    if word == b"die" and "LD_PRELOAD" in __import__("os").environ:
        __import__("os").abort()
    connection.sendall(word)
    connection.close()
"""
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
    c.sendall(sys.argv[2].encode())
    answer = c.recv(100)
    print(answer)
    sys.exit(0 if answer or len(sys.argv) > 3 else 1)
"""


def serve(stage: Stage, *words: str) -> None:
    port = stage.port()
    with stage.server(sys.executable, "-c", SERVER, str(port), ready=f"tcp:{port}"):
        stage.same(stage.plain(sys.executable, "-c", CLIENT, str(port), *words).stdout)


def test_a_server_that_a_signal_ends_is_counted(verdict):
    good, text = verdict(lambda s: serve(s, "hello"))
    assert good, text


@pytest.mark.parametrize("patience", [[], ["also without an answer"]])
def test_a_server_that_dies_under_load(verdict, patience):
    assert "died by SIGABRT" in failure(verdict, lambda s: serve(s, "die", *patience))


def test_a_server_that_is_never_ready(verdict):
    def play(stage: Stage) -> None:
        with stage.server(
            "sh", "-c", f"{UNDER} exit 1; exec sleep 1000", ready=stage.tmp if stage.under is None else "tcp:1"
        ):
            pass

    assert "ended before it was ready ended with status 1" in failure(verdict, play)


def test_runs_side_by_side_share_no_folder(tmp_path):
    first, mark = own_folder(tmp_path / "out/case")
    code = "import pathlib, suite.place, sys; print(suite.place.own_folder(pathlib.Path(sys.argv[1]))[0])"
    command = [sys.executable, "-c", code, str(tmp_path / "out/case")]
    other = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
    assert (first, other) == (tmp_path / "out/case", f"{tmp_path}/out/case-2")
    mark.close()
    assert own_folder(tmp_path / "out/case")[0] == first


def test_each_combination_may_be_drawn():
    case, locks, mutexes = a_case(None, waits=WAITS), ("pthread", "pf-t", "ba"), ("pthread", "mcs", "clh")
    possible = combinations(case, locks, mutexes)
    assert len(possible) == len(set(possible)) == 12
    assert [str(under) for under in possible[7:]] == [
        "mutex:pthread, park", "mutex:mcs, park", "mutex:clh, park", "ba+mutex:mcs, park", "pf-t+mutex:clh, park",
    ]  # fmt: skip
    draws = [sample(case, locks, mutexes, draw=f"draw {n}") for n in range(100)]
    assert {under for some in draws for under in some} == set(possible)
    assert all(len(set(some)) == IN_A_SAMPLE for some in draws)
    assert all(sum("mutex" in under.kinds for under in some) == 1 for some in draws)
    more = sample(case, locks, mutexes, 6)
    assert len(set(more)) == 6
    assert sum("mutex" in under.kinds for under in more) == 2
    assert sample(case, locks, mutexes) == sample(case, locks, mutexes)


def test_the_table_of_programs_is_complete():
    text = (HERE / "README.md").read_text()
    missing = [name for name in all_cases() if f"`{name}`" not in text]
    assert not missing, f"tests/programs/README.md does not have {missing}"
    assert len(all_cases()) >= 20
