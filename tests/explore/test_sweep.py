"""The sweep over several machines: each case once, whatever happens to workers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sweep

EXPLORER = """#!/bin/sh
# `list`: five cases; `run ... --slice K/N`: those of the slice
cases='core/a/1w core/a/2w core/b/1w core/b/2w many/c'
if [ "$1" = list ]; then echo $cases | tr ' ' '\\n'; exit 0; fi
for last; do :; done
k=${last%/*} n=${last#*/} i=0 status=0
for case in $cases; do
  if [ $((i % n)) = "$k" ]; then
    [ "$case" != "$FAILS" ] && what=exhausted || { what='a deadlock'; status=1; }
    printf '%-44s %-10s %9d executions %7.2f s  %s\\n' "$case" 2,2,1,1 10 0.1 "$what"
  fi
  i=$((i + 1))
done
echo '2 cases under c11, 20 executions (0 of them cut short), 0.1 s: 0 failed, 0 not finished'
exit $status
"""


@pytest.fixture
def explorer(tmp_path: Path) -> Path:
    file = tmp_path / "build/bin/lockswap-explore"
    file.parent.mkdir(parents=True)
    file.write_text(EXPLORER)
    file.chmod(0o755)
    return file


class Here:
    """Instead of Dask: the commands one after the other, backwards; `twice` sends an answer again, `lost` none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, twice: int = -1, lost: int = -1) -> None:
        self.twice, self.lost = twice, lost
        monkeypatch.setattr(sweep.connection, "run_all", self.run_all)
        monkeypatch.setattr(sweep.connection, "threads_of", lambda client: {"one": 2, "two": 4})

    def run_all(self, _: object, commands: list[list[str]]):
        for number in reversed(range(len(commands))):
            done = subprocess.run(commands[number], capture_output=True, text=True)
            for _ in range(0 if number == self.lost else 2 if number == self.twice else 1):
                yield number, done.returncode, done.stdout


def test_each_case_is_explored_once(explorer, monkeypatch, capsys):
    Here(monkeypatch)
    assert sweep.sweep(None, explorer, [], 2) == 0
    said = capsys.readouterr().out
    assert Counter(case for case, _ in sweep.CASE.findall(said)) == Counter(sweep.expected(explorer, []))
    assert said.endswith("5 cases (5 exhausted); slices with a failure: 0\n")
    assert "on 6 threads of 2 workers" in said and "cases under" not in said


@pytest.mark.parametrize(("how", "says"), [({"twice": 0}, "explored 2 times"), ({"lost": 1}, "explored 0 times")])
def test_a_slice_that_comes_twice_or_never_is_noticed(explorer, monkeypatch, capsys, how, says):
    Here(monkeypatch, **how)
    assert sweep.sweep(None, explorer, [], 3) == 1
    assert says in capsys.readouterr().out


def test_a_case_that_fails_makes_the_sweep_fail(explorer, monkeypatch, capsys):
    Here(monkeypatch)
    monkeypatch.setenv("FAILS", "core/b/1w")
    assert sweep.sweep(None, explorer, [], 5) == 1
    assert "a deadlock" in capsys.readouterr().out


def test_the_names_among_the_words_of_run(explorer):
    assert sweep.names_in(["--quick", "core/b", "--bounds", "2,2,1,1", "=many/c", "--stop"]) == ["core/b", "=many/c"]
    assert sweep.expected(explorer, ["core/b", "=many/c"]) == ["core/b/1w", "core/b/2w", "many/c"]
    assert sweep.expected(explorer, ["=core"]) == []


@pytest.mark.full
def test_on_a_cluster_of_this_machine(explorer):
    pytest.importorskip("distributed")
    script = Path(sweep.__file__)
    meter = script.parents[2] / "build/bin/lockswap-meter"
    if not meter.exists():
        pytest.skip("skipped: lockswap-meter is not built")
    done = subprocess.run([sys.executable, script, explorer.parents[1]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("5 cases (5 exhausted); slices with a failure: 0\n")
