"""Peers: values of a recipe's parameter that are compared as locks are, each without the library."""

import csv
import re
import tomllib

import pytest

from harness_support import one_line_error
from lockswap.base.choice import Choice, kinds_of
from lockswap.base.errors import UserError
from lockswap.base.registry import Registry
from lockswap.base.selection import parse
from lockswap.findings import gate, loading
from lockswap.findings.picture import Picture
from lockswap.recipes import reader
from lockswap.records.folder import Folder

WORKLOAD = {
    '["{apps}/rwbench", "{threads}", "{count}"]': (
        '["sh", "-c", "if [ {lock} = absent ]; then echo absent is not compiled in: install it >&2; exit 77; fi; '
        'echo lock {lock} ${{LOCKSWAP_RWLOCK:-none}}; exec {apps}/rwbench {threads} {count}"]'
    ),
    "params.default.count = 20000": (
        'params.default.count = 20000\nparams.default.lock = "std"\n'
        'peers.lock = ["built-in", "absent"]\nskip_status = 77'
    ),
    "[[expect]]": "[[expect]]\nmatch = '^lock (std|built-in none)'\nwhy = 'peers run without us'\n[[expect]]",
}


@pytest.fixture
def workload(recipe):
    return recipe("rw", replace=WORKLOAD)


@pytest.fixture
def compared(lockswap, repo, workload):
    """A short campaign: its rows by lock, what is on record, what was printed."""

    def run(*args, rounds=1):
        done = lockswap("compare", "--out", "results/c", "-w", "rw", "-t", "1", "-r", str(rounds), *args)
        folder = repo / "results/c"
        rows: dict[str, list[dict]] = {}
        if (folder / "raw.csv").exists():
            with (folder / "raw.csv").open(newline="") as file:
                for row in csv.DictReader(file):
                    rows.setdefault(row["lock"], []).append(row)
        return rows, tomllib.loads((folder / "campaign.toml").read_text()) if rows else {}, done

    return run


def test_a_label_of_a_peer():
    choice = Choice.of("peer:built-in")
    assert choice.peer == "built-in" and choice.variables == {} and choice.label == "peer:built-in"
    assert choice == parse(Registry("0", ()), "peer:built-in")
    assert kinds_of(["peer:built-in"]) == frozenset()


def test_beside_peers_a_mutex_is_called_as_without_them():
    picture = Picture(["mutex:mcs", "peer:built-in"], "mutex:pthread", "glibc's", [])
    assert [picture.short(lock) for lock in picture.locks] == ["mcs", "peer:built-in"]
    assert picture.title == "mutexes vs glibc's"


def test_peers_run_beside_the_locks_and_without_the_library(compared):
    rows, about, done = compared("-l", "ba")
    assert done.returncode == 0, done.stderr
    assert list(about["locks"]) == ["none", "pthread", "ba", "peer:built-in", "peer:absent"]
    statuses = {lock: {(row["status"], row["detail"]) for row in found} for lock, found in rows.items()}
    assert statuses.pop("peer:absent") == {("skipped", "absent is not compiled in: install it")}
    assert set(map(frozenset, statuses.values())) == {frozenset({("ok", "")})}
    assert "rw with peer:absent: skipped: absent is not compiled in: install it" in done.stderr
    assert any("built with another library's lock" in hint for hint in about["hints"])


def test_a_peer_can_be_chosen_and_be_the_baseline(compared):
    rows, about, done = compared("-l", "ba", "--peer", "built-in", "--against", "peer:built-in", "--no-report")
    assert done.returncode == 0, done.stderr
    assert list(about["locks"]) == ["none", "pthread", "peer:built-in", "ba"]
    assert about["workload"][0]["against"] == "peer:built-in"
    assert set(rows) == set(about["locks"])


def test_peers_are_judged_as_locks_are_but_not_by_the_gate(compared, repo):
    _, _, done = compared("-l", "ba", "--peer", "built-in", "--no-report", "--verbose", rounds=6)
    assert done.returncode == 0, done.stderr
    assert re.search(r"peer:built-in (\([^)]*\) )?against pthread", done.stdout)
    campaign = loading.load(Folder(repo / "results/c"))
    lines = [*gate.check(campaign, 0.97).lines(), *gate.check(campaign, 100).lines()]
    assert any(", ba" in line for line in lines) and not any("peer:" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("-w", "rw", "--peer", "built"), "no peer 'built', did you mean 'built-in'?"),
        (("-w", "rw", "--against", "peer:x"), "no peer 'x' (there are: built-in, absent)"),
        (("--peer", "x", "--", "true"), "the workloads that are compared have no peers"),
    ],
)
def test_a_peer_that_is_not_there(lockswap, workload, options, says):
    assert says in one_line_error(lockswap.inside("compare", "-l", "ba", *options))


@pytest.mark.parametrize(
    ("peers", "says"),
    [
        ('peers.look = ["a"]', "params.look"),
        ('peers.lock = ["a", "a"]', "same name"),
        ('peers.lock = ["a b"]', "'a b'"),
        ('peers.lock = "a"', "peers.lock"),
        ('peers.lock = ["a"]\npeers.other = ["b"]', "needs one parameter"),
    ],
)
def test_wrong_peers(recipe, peers, says):
    lines = {"params.default.count = 20000": f'params.default.count = 20000\nparams.default.lock = "std"\n{peers}'}
    with pytest.raises(UserError) as error:
        reader.load(recipe("rw", replace=lines))
    assert says in str(error.value)


def test_a_list_shows_them(lockswap, workload):
    assert "built-in, absent" in lockswap.inside("list", "rw").stdout
