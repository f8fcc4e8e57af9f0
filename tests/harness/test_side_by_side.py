"""`lockswap report A B`: what differs, what changed, and no more than the spread allows."""

import csv
import itertools
import json
import math
import random
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

import synthetic
from harness_support import one_line_error
from lockswap.findings import reading
from lockswap.findings.change import _rank as shift_rank
from lockswap.findings.change import change
from lockswap.records.folder import Folder
from lockswap.report import terminal
from lockswap.side_by_side import campaigns, page
from lockswap.side_by_side import terminal as terminal_of_several


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same measured twice, and once with a 'ba' that reads twice as much."""
    root = tmp_path_factory.mktemp("sides")
    return {
        "first": synthetic.write(root / "first"),
        "again": synthetic.write(root / "again", seed=2),
        "better": synthetic.write(root / "better", seed=3, better={"ba": 2}),
    }


def verdicts(found: campaigns.SideBySide, workload: str = "starving", number: int = 1) -> dict:
    return {
        (line.metric.name, line.threads, line.lock): line.changes[number - 1].verdict
        for line in found.of(workload)
        if line.changes[number - 1] and line.metric.role in ("reads", "writes")
    }


def test_equals_have_not_changed(folders):
    found = list(verdicts(campaigns.read([folders["first"], folders["again"]])).values())
    # One in twenty may be called changed by chance.
    assert len(found) > 25 and found.count("changed") <= 1


def test_a_better_lock_is_found_and_no_other(folders):
    found = campaigns.read([folders["first"], folders["better"]])
    changed = {key for key, verdict in verdicts(found).items() if verdict == "changed"}
    assert changed == {("reads", threads, "ba") for threads in synthetic.THREADS}
    for line in found.of("starving"):
        if (line.metric.name, line.lock) == ("reads", "ba"):
            one = line.changes[0]
            assert one.better and one.low < 2 < one.high and one.n == (7, 7) and one.noise > 1
    # Turned round, it has become worse.
    back = campaigns.read([folders["better"], folders["first"]])
    line = next(line for line in back.of("starving") if (line.threads, line.lock) == (4, "ba"))
    assert line.changes[0].verdict == "changed" and not line.changes[0].better


def test_three_campaigns_are_each_set_against_the_first(folders):
    found = campaigns.read([folders["first"], folders["again"], folders["better"]])
    assert list(verdicts(found, number=1).values()).count("changed") <= 1
    assert list(verdicts(found, number=2).values()).count("changed") == 4
    assert found.tally(2)["changed"] >= 4 > found.tally(1)["changed"]


def test_what_is_starved_twice_or_broken_has_no_change(folders):
    found = campaigns.read([folders["first"], folders["again"]])
    line = next(x for x in found.of("starving") if (x.metric.name, x.threads, x.lock) == ("writes", 8, "ba"))
    assert line.changes == (None,) and line.ratios[0].estimate == math.inf
    broken = [line for line in found.of("broken") if line.lock == "ba"]
    assert broken and all(line.ratios == (None, None) and line.changes == (None,) for line in broken)


def test_interval_of_a_change_agrees_with_the_mann_whitney_test():
    dice = random.Random(5)
    decided = 0
    for _ in range(200):
        sizes = dice.randint(6, 12), dice.randint(6, 12)
        before = [dice.lognormvariate(0, 0.1) for _ in range(sizes[0])]
        after = [dice.lognormvariate(0.08, 0.1) for _ in range(sizes[1])]
        found = change([(value, 1.0) for value in before], [(value, 1.0) for value in after])
        p = scipy_stats.mannwhitneyu(np.log(after), np.log(before), method="exact").pvalue
        assert (found.low > 1 or found.high < 1) == (p <= 0.05)
        assert found.low <= found.estimate <= found.high
        decided += p <= 0.05
    assert 20 < decided < 180


def test_the_rank_of_a_change_is_the_largest_that_scipys_test_rejects():
    """A rank counts the pairs in which the first sample's value is the larger. It is 0 if the test rejects none."""

    def rejects(pairs: int, n: int, m: int) -> bool:
        left, firsts = pairs, []
        for place in range(n):
            below = min(left, m)
            firsts.append(below + 0.5 + place / (2 * n))
            left -= below
        return scipy_stats.mannwhitneyu(firsts, range(1, m + 1), method="exact").pvalue <= 0.05

    for n, m in [*itertools.combinations_with_replacement(range(6, 14), 2), (30, 7), (20, 31)]:
        rank = shift_rank(n, m)
        assert rank == 0 or rejects(rank, n, m)
        assert not rejects(rank + 1, n, m)


def test_equals_are_called_changed_no_more_often_than_one_time_in_twenty():
    dice = random.Random(11)
    wrong = 0
    for _ in range(2000):
        before, after = ([(dice.lognormvariate(0, 0.2), 1.0) for _ in range(7)] for _ in range(2))
        wrong += change(before, after).verdict == "changed"
    assert 0.01 < wrong / 2000 < 0.055


def test_no_change_within_the_noise_and_none_from_too_few():
    before, after = [(1 + n / 1000, 1.0) for n in range(7)], [(1.1 + n / 1000, 1.0) for n in range(7)]
    assert change(before, after).verdict == "changed"
    assert change(before, after, noise=1.05).verdict == "changed"
    assert change(before, after, noise=1.2).verdict == "can't tell"
    assert change(before[:5], after).verdict == "can't tell"
    assert change(before, before).verdict == "not changed"
    assert change(before, before, noise=1.2).verdict == "can't tell"
    assert change([], after) is None
    less = change(before, after, (False, False))
    assert less.verdict == "changed" and not less.better


def changed_copy(tmp_path, name: str, **more):
    """A campaign with other entries in campaign.toml or env.json: those of `env` go there."""
    path = synthetic.write(tmp_path / name, seed=4)
    folder = Folder(path)
    env = json.loads((path / "env.json").read_text())
    for key, value in more.pop("env", {}).items():
        env[key] = env[key] | value if isinstance(value, dict) else value
    folder.write_env(env)
    folder.write_campaign({key: value for key, value in folder.campaign().items() if key != "schema"} | more)
    return path


def test_other_machines_are_warned_about_in_all_outputs(lockswap, folders, tmp_path):
    env = {"cpu": {"model": "Another CPU", "usable": 64}, "lockswap": {"commit": "def"}}
    other = changed_copy(tmp_path, "elsewhere", env=env, wait="yield", settings={"LOCKSWAP_SPIN": "7"})
    done = lockswap("report", folders["first"], other, "--out", tmp_path / "out", timeout=600)
    assert done.returncode == 0, done.stderr
    html = (tmp_path / "out/report.html").read_text()
    for text in (done.stdout, html):
        for word in ("Another CPU", "64", "def", "yield", "LOCKSWAP_SPIN", "The machines differ (CPU and usable CPUs)"):
            assert word in text, word
    assert "Of different machines (CPU and usable CPUs differ): do not compare them." in html
    data = json.loads((tmp_path / "out/changes.json").read_text())
    assert (
        data["schema"] == 1 and data["differences"]["usable CPUs"] == ["2", "64"] and "machines" in data["cautions"][0]
    )
    with (tmp_path / "out/changes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["campaign"] for row in rows} == {"first", "elsewhere"}
    assert all(row["change_verdict"] == "" for row in rows if row["campaign"] == "first")
    assert (tmp_path / "out/plots/starving-sides.png").exists()


def test_other_work_under_the_same_name_is_warned_about(folders, tmp_path):
    about = Folder(folders["first"]).campaign()
    about["workload"][0]["params"] = {"records": 5}
    about["workload"][0]["seconds"] = 9
    other = changed_copy(tmp_path, "other", workload=about["workload"])
    cautions = " ".join(campaigns.read([folders["first"], other]).cautions)
    assert "starving is not the same in all campaigns: length and parameters differ" in cautions
    assert "machines" not in cautions and "timed" not in cautions


def columns_and_lines(monkeypatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "24")


@pytest.mark.parametrize("columns", [80, 120])
def test_the_terminal_is_not_overrun(folders, monkeypatch, capsys, columns):
    columns_and_lines(monkeypatch, columns)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    both, three = list(folders.values())[:2], list(folders.values())
    for show in (
        lambda: terminal.show(reading.read(folders["first"]), Path("report.html"), verbose=True),
        lambda: terminal_of_several.show(campaigns.read(both), Path("report.html")),
        lambda: terminal_of_several.show(campaigns.read(three), Path("report.html")),
    ):
        show()
        out = capsys.readouterr().out
        assert "Readers that never pause" in out and "More in the report: read-p99.9" in out
        assert max(len(line) for line in out.splitlines()) <= columns
        assert "…" not in out, "something is cut off"


def test_in_a_pipe_the_verdict_is_the_last_line(folders, monkeypatch, capsys):
    columns_and_lines(monkeypatch, 80)
    found = reading.read(folders["first"])
    terminal.show(found, Path("report.html"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == found.brief[-1] and len(lines[-1]) > 80
    # The first line has the folder's path.
    assert max(map(len, lines[1:-1])) <= 80


def test_its_place_without_out(folders, repo, tmp_path, monkeypatch):
    found = campaigns.read([folders["first"], folders["again"]])
    monkeypatch.setenv("LOCKSWAP_HOME", str(repo))
    assert page.default_folder(found) == folders["first"].parent / "first-vs-again"
    found = campaigns.read([folders["first"], shutil.copytree(folders["again"], tmp_path / "again")])
    assert page.default_folder(found) == repo / "results/first-vs-again"
    (repo / "results").rmdir()
    assert page.default_folder(found) == Path("first-vs-again")


def test_bad_input(lockswap, folders, tmp_path):
    first = folders["first"]
    unfinished = synthetic.write(tmp_path / "unfinished", finished=False)
    none_shared = changed_copy(tmp_path, "strange", workload=[])
    no_locks = changed_copy(tmp_path, "locks", locks=["none", "pthread"])
    (tmp_path / "file").write_text("")
    for args, says in (
        ([first, tmp_path / "nothing"], "neither a campaign nor a profile"),
        ([first, unfinished], f"--resume {unfinished}"),
        ([first, first], "given twice"),
        ([first, none_shared], "no workload in common"),
        ([first, folders["again"], "--out", first], "campaign's folder"),
        ([first, folders["again"], "--out", tmp_path / "file"], "cannot make the folder"),
        ([first, "--out", tmp_path / "file"], "cannot make the folder"),
        ([first, changed_copy(tmp_path, "against", against="none")], "different baselines: none and pthread"),
        ([], "Missing argument"),
    ):
        assert says in one_line_error(lockswap.inside("report", *args)), says
    assert {line.lock for line in campaigns.read([first, no_locks]).comparisons} == {"none"}
