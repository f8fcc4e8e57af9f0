"""Choices: rwlocks, mutexes, or both under a program, each known by one label."""

import csv
import json
import tomllib

import pytest

from harness_support import LOCKS, MUTEX_RECIPE, MUTEXES, one_line_error
from lockswap.base.choice import Choice, baseline, kinds_of, with_baselines
from lockswap.base.errors import UserError
from lockswap.base.registry import Lock, Registry
from lockswap.base.selection import named, parse
from lockswap.report.palette import Palette

REGISTRY = Registry("0", tuple(Lock(name) for name in LOCKS), tuple(Lock(name) for name in MUTEXES))


@pytest.mark.parametrize(
    ("label", "rwlock", "mutex", "kinds"),
    [
        ("none", "none", None, set()),
        ("pthread", "pthread", None, {"rwlock"}),
        ("ba", "ba", None, {"rwlock"}),
        ("mutex:pthread", "pthread", "pthread", {"mutex"}),
        ("mutex:mcs", "pthread", "mcs", {"mutex"}),
        ("ba+mutex:mcs", "ba", "mcs", {"rwlock", "mutex"}),
    ],
)
def test_a_label_says_it_all(label, rwlock, mutex, kinds):
    choice = Choice.of(label)
    assert choice == Choice(rwlock, mutex) == parse(REGISTRY, label.upper())
    assert choice.label == label and choice.kinds == kinds
    expected = {"LOCKSWAP_RWLOCK": rwlock, "LOCKSWAP_MUTEX": mutex} if mutex else {"LOCKSWAP_RWLOCK": rwlock}
    assert choice.variables == ({} if label == "none" else expected)


@pytest.mark.parametrize(
    ("label", "variables"),
    [
        ("ba@LOCKSWAP_SPIN=0", {"LOCKSWAP_RWLOCK": "ba", "LOCKSWAP_SPIN": "0"}),
        ("mutex:mcs@A=0@versus", {"LOCKSWAP_RWLOCK": "pthread", "LOCKSWAP_MUTEX": "mcs", "A": "0"}),
        ("none@versus", {}),
    ],
)  # fmt: skip
def test_a_label_has_settings_and_the_other_command(label, variables):
    choice = Choice.of(label)
    assert choice.variables == variables and choice.label == label == parse(REGISTRY, label).label
    assert choice.versus == label.endswith("@versus")
    assert choice.kinds == Choice.of(label.split("@")[0]).kinds


@pytest.mark.parametrize(
    "text",
    ["ba@x", "ba@", "ba@versus@", "mcs", "mutex:slow5", "ba+mcs", "ba+mutex:", "mutex:mcs+ba", "none+mutex:mcs", ""],
)
def test_what_is_no_label_is_refused(text):
    with pytest.raises(UserError):
        parse(REGISTRY, text)


def test_each_of_them_alone_and_the_pairs_when_asked():
    assert named(REGISTRY, ["ba"], []) == ["ba"]
    assert named(REGISTRY, [], ["mcs", "MCS", "ba", "none"]) == ["mutex:mcs", "mutex:ba"]
    # Beside mutexes, 'ba' alone has those passed through, as the baseline has.
    assert named(REGISTRY, ["ba", "pthread"], ["mcs"]) == ["ba+mutex:pthread", "mutex:pthread", "mutex:mcs"]
    assert named(REGISTRY, ["ba"], ["mcs", "ba"], pairs=True) == [
        "ba+mutex:pthread", "mutex:mcs", "mutex:ba", "ba+mutex:mcs", "ba+mutex:ba",
    ]  # fmt: skip
    with pytest.raises(UserError, match="name both"):
        named(REGISTRY, ["ba"], [], pairs=True)


def test_what_is_passed_through_is_not_under_test():
    tested = {label: set(Choice.of(label).tested) for label in ("ba+mutex:pthread", "mutex:pthread", "ba+mutex:mcs")}
    assert tested == {"ba+mutex:pthread": {"rwlock"}, "mutex:pthread": {"mutex"}, "ba+mutex:mcs": {"rwlock", "mutex"}}


@pytest.mark.parametrize(("rwlocks", "mutexes"), [(["none"], ["mcs"]), (["ba"], ["none", "None"])])
def test_none_alone_goes_with_no_other_lock(rwlocks, mutexes):
    with pytest.raises(UserError, match="no other lock can run beside it"):
        named(REGISTRY, rwlocks, mutexes)


def test_none_beside_others_is_measured_anyhow():
    assert named(REGISTRY, ["none", "ba"], ["mcs"]) == ["ba+mutex:pthread", "mutex:mcs"]
    assert named(REGISTRY, ["none"], ["none"]) == named(REGISTRY, ["none"], []) == []


def test_baselines():
    assert with_baselines(["ba"]) == ["none", "pthread", "ba"]
    assert with_baselines(["mutex:mcs", "mutex:pthread"]) == ["none", "mutex:pthread", "mutex:mcs"]
    assert with_baselines(["ba+mutex:mcs"], "ba") == ["none", "mutex:pthread", "ba", "ba+mutex:mcs"]
    assert with_baselines(["ba"], "bravo-ba") == ["none", "pthread", "bravo-ba", "ba"]
    assert baseline(["none", "ba"]) == "pthread" and baseline(["ba", "mutex:mcs"]) == "mutex:pthread"
    assert kinds_of(["none", "ba", "mutex:mcs"]) == {"rwlock", "mutex"}


def test_a_mutex_is_drawn_as_the_lock_of_its_name_unless_both_are_there():
    alone = Palette().styles(["none", "mutex:pthread", "mutex:ba", "mutex:cohort"])
    for name, style in Palette().styles(["none", "pthread", "ba", "cohort"]).items():
        assert alone.get(f"mutex:{name}", style) == style
    mixed = ["none", "pthread", "ba", "mutex:pthread", "mutex:ba", "ba+mutex:ba", "ba+mutex:pthread"]
    assert len({style.color for style in Palette().styles(mixed).values()}) == len(mixed)


@pytest.fixture
def mutexes(repo):
    def write(name: str, **changes: str) -> None:
        text = MUTEX_RECIPE.format(name=name)
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        (repo / "apps/recipes" / f"{name}.toml").write_text(text)

    return write


@pytest.fixture
def campaign(lockswap, repo):
    """Run a short campaign: its rows' statuses by (workload, lock), what is on record, what was printed."""

    def run(*args, status=0):
        done = lockswap("compare", "--out", "results/c", "-t", "1", "-r", "1", *args)
        assert done.returncode == status, done.stderr
        with (repo / "results/c/raw.csv").open(newline="") as file:
            found = {(row["workload"], row["lock"]): row["status"] for row in csv.DictReader(file)}
        return found, tomllib.loads((repo / "results/c/campaign.toml").read_text()), done

    return run


def test_mutexes_are_compared_and_counted(campaign, mutexes, repo):
    mutexes("m")
    found, about, done = campaign("-w", "m", "-m", "mcs,ba", "--against", "mutex:ba", "--verbose")
    assert found == {("m", lock): "ok" for lock in ("none", "mutex:pthread", "mutex:ba", "mutex:mcs")}
    assert about["against"] == "mutex:ba" and about["request"]["mutexes"] == ["mcs", "ba"]
    checks = {check["lock"]: check for check in json.loads((repo / "results/c/checks.json").read_text())["checks"]}
    assert {lock: check.get("mutex_totals", {}).get("acquisitions") for lock, check in checks.items()} == {
        "none": None, "mutex:pthread": 40000, "mutex:ba": 40000, "mutex:mcs": 40000,
    }  # fmt: skip
    page = (repo / "results/c/report.html").read_text()
    assert "mutex acquisitions" in page and 'data-lock="mutex:mcs"' in page and "to mutex:ba" in page
    assert "to mutex:ba" in done.stdout


def test_both_kinds_each_alone_and_as_a_pair(campaign, repo):
    program = repo / "build/apps/mutexbench"
    found, about, _ = campaign("-l", "ba", "-m", "mcs", "--pairs", "--no-report", "--", program, "1", "1000")
    assert about["locks"] == ["none", "mutex:pthread", "ba+mutex:pthread", "mutex:mcs", "ba+mutex:mcs"]
    # It takes mutexes and no rwlock: for a command of one's own one of the two is enough.
    assert {lock for (_, lock), status in found.items() if status == "no lock"} == {"ba+mutex:pthread"}
    assert set(found.values()) == {"ok", "no lock"}


def test_a_campaign_that_would_go_on_with_other_locks_is_not_resumed(campaign, lockswap, repo):
    program = repo / "build/apps/mutexbench"
    campaign("-l", "ba", "-m", "mcs", "--no-report", "--", program, "1", "1000")
    file = repo / "results/c/campaign.toml"  # as an earlier version wrote it: each with each
    text = file.read_text().replace("finished = true", "finished = false")
    file.write_text(text.replace('"ba+mutex:pthread"', '"ba+mutex:mcs"'))
    before = (repo / "results/c/raw.csv").read_text()
    assert "start a new campaign" in one_line_error(lockswap.inside("compare", "--resume", repo / "results/c"))
    assert (repo / "results/c/raw.csv").read_text() == before


def test_none_named_is_only_that(campaign, recipe):
    recipe("rw")
    found, about, _ = campaign("-w", "rw", "-l", "none", "--no-report")
    assert {lock for _, lock in found} == {"none", "pthread"} and about["against"] == "pthread"


def test_glibc_as_the_baseline_is_that_of_the_campaign(campaign, mutexes):
    mutexes("m")
    found, about, _ = campaign("-w", "m", "-m", "mcs", "--against", "pthread", "--no-report")
    assert {lock for _, lock in found} == {"none", "mutex:pthread", "mutex:mcs"}
    assert about["against"] == "mutex:pthread"


def test_a_mutex_that_is_never_called_is_found_out(campaign, mutexes, repo):
    mutexes("m")
    found, _, done = campaign("-w", "m", "-m", "bypassed,mcs", "--no-report", "--verbose")
    assert found["m", "mutex:bypassed"] == "no lock" and found["m", "mutex:mcs"] == "ok"
    assert "0 mutex calls seen: the program takes no pthread mutex" in done.stdout


def test_rwlocks_are_no_mutexes(campaign, recipe):
    recipe("rw")
    found, _, done = campaign("-w", "rw", "-m", "mcs", "--no-report", status=4)
    assert found["rw", "none"] == "ok" and found["rw", "mutex:mcs"] == "no lock"
    assert "takes only rwlocks, as its recipe says; --rwlock chooses" in done.stderr


def test_without_names_each_workload_gets_what_it_takes(campaign, mutexes, recipe, repo):
    mutexes("a-mutexes")
    recipe("rw")
    found, about, _ = campaign("-w", "all")
    rwlocks, swapped = ["none", "pthread", "ba", "bravo-ba"], ["none", "mutex:pthread", "mutex:ba"]
    assert list(found) != [] and set(found.values()) == {"ok"}
    assert {lock for name, lock in found if name == "rw"} == set(rwlocks)
    assert {lock for name, lock in found if name == "a-mutexes"} == set(swapped)
    assert about["locks"] == [*rwlocks, *swapped[1:]]
    assert [(one["name"], one["against"]) for one in about["workload"]] == [
        ("rw", "pthread"), ("a-mutexes", "mutex:pthread"),
    ]  # fmt: skip
    # A section of the report for each.
    page = (repo / "results/c/report.html").read_text()
    first, second = page.index("<h2>All figures: reader-writer locks"), page.index("<h2>All figures: mutexes")
    end = page.index("</section>", second)
    assert first < second < end < page.index('<section id="w-rw">')
    assert "bravo-ba" in page[first:second] and "mutex:ba" not in page[first:second]
    assert "mutex:ba" in page[second:end] and "bravo-ba" not in page[second:end]


def test_an_interrupted_campaign_goes_on_with_its_mutexes(lockswap, mutexes, repo):
    mutexes("m")
    done = lockswap("compare", "--out", "results/c", "-t", "1", "-r", "1", "-w", "m", "-m", "mcs", "--no-report")
    assert done.returncode == 0, done.stderr
    about, raw = repo / "results/c/campaign.toml", repo / "results/c/raw.csv"
    about.write_text(about.read_text().replace("finished = true", "finished = false"))
    lines = raw.read_text().splitlines(keepends=True)
    raw.write_text("".join(lines[:2]))
    done = lockswap("compare", "--resume", repo / "results/c", "--no-report")
    assert done.returncode == 0, done.stderr
    again = list(csv.DictReader(raw.read_text().splitlines()))
    assert [row["lock"] for row in again] == [line.split(",")[3] for line in lines[1:]]


def test_campaigns_with_mutexes_side_by_side(lockswap, mutexes, recipe, repo):
    mutexes("m")
    recipe("rw")
    for name in ("one", "two"):
        assert lockswap("compare", "-w", "all", "--name", name, "-t", "1", "-r", "1", "--no-report").returncode == 0
    done = lockswap("report", "results/one", "results/two")
    assert done.returncode == 0, done.stderr
    page = (repo / "results/one-vs-two/report.html").read_text()
    assert "pthread and mutex:pthread" in page and 'data-lock="mutex:ba"' in page
    done = lockswap("compare", "--name", "three", "-t", "1", "-r", "1", "-w", "m", "-m", "ba", "--against", "mutex:ba")
    assert done.returncode == 0, done.stderr
    assert "different baselines" in one_line_error(lockswap("report", "results/one", "results/three"))


@pytest.mark.parametrize("text", ["bravo-ba", "mutex:bravo-ba", "Bravo-BA"])
def test_a_lock_that_the_build_leaves_out_is_said_to_be(text):
    registry = Registry("0", (Lock("ba"),), (Lock("mcs"),), left_out=("bravo-ba",))
    with pytest.raises(UserError, match=r"was left out of this build \(LOCKSWAP_WITHOUT\); 'lockswap list' shows"):
        parse(registry, text)
