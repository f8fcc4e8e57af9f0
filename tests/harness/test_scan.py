"""`compare --scan` and `--versus`: values of a variable, and two commands, side by side."""

import csv
import tomllib

import pytest

from harness_support import one_line_error


@pytest.fixture
def campaign(lockswap, repo):
    """Run a short campaign of a user's command: its rows, what is on record, what was printed."""

    def run(*args, rounds=1):
        done = lockswap("compare", "--out", repo / "results/c", "-r", str(rounds), *args)
        assert done.returncode == 0, done.stderr
        folder = repo / "results/c"
        with (folder / "raw.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        assert {row["status"] for row in found} == {"ok"}
        return found, tomllib.loads((folder / "campaign.toml").read_text()), done

    return run


def figures(found: list[dict]) -> dict:
    return {(row["workload"], row["lock"]): float(row["metric.n"]) for row in found}


def program(repo, says: str) -> list[str]:
    """It takes rwlocks, and prints a figure."""
    return ["sh", "-c", f"{repo}/build/apps/rwbench 1 90 >/dev/null; echo n: {says}"]


def test_a_variable_of_the_library_makes_a_choice_a_value(campaign, repo):
    options = ("-l", "ba", "--scan", "LOCKSWAP_SPIN=0,50", "--metric", "n: ([0-9]+)", "--")
    found, about, done = campaign(*options, *program(repo, "${LOCKSWAP_SPIN:-7}"))
    labels = ["none", "pthread", "ba@LOCKSWAP_SPIN=0", "ba@LOCKSWAP_SPIN=50"]
    assert about["locks"] == labels and about["request"]["scan"] == ["LOCKSWAP_SPIN=0,50"]
    assert figures(found) == {("sh", lock): value for lock, value in zip(labels, (7, 7, 0, 50), strict=True)}
    assert "ba@LOCKSWAP_SPIN=50" in done.stdout
    page = (repo / "results/c/report.html").read_text()
    assert 'data-lock="ba@LOCKSWAP_SPIN=50"' in page


def test_a_variable_of_the_program_makes_a_workload_a_value(campaign, repo):
    options = ("-l", "ba", "--scan", "SIZE=1,{2}", "--scan", "KIND=a", "--metric", "n: ([0-9]+)", "--no-report", "--")
    found, about, _ = campaign(*options, *program(repo, "${#SIZE}${KIND:+5}"))
    assert figures(found) == {
        (workload, lock): value
        for workload, value in {"sh-SIZE-1-KIND-a": 15, "sh-SIZE--2--KIND-a": 35}.items()
        for lock in ("none", "pthread", "ba")
    }
    assert [one["params"] for one in about["workload"]] == [{"SIZE": "1", "KIND": "a"}, {"SIZE": "{2}", "KIND": "a"}]
    assert about["workload"][1]["title"].endswith(", SIZE={2}, KIND=a")


def test_two_commands_as_they_are(campaign, repo):
    other = "sh -c 'echo n: 2{}'"
    found, about, done = campaign(
        "--verbose", "--versus", other, "--metric", "n: ([0-9]+)", "--", "sh", "-c", "echo n: 1", rounds=6
    )
    assert figures(found) == {("sh", "none"): 1, ("sh", "none@versus"): 2}
    assert about["against"] == "none" and about["locks"] == ["none", "none@versus"]
    assert about["workload"][0]["versus"][:2] == ["sh", "-c"]
    assert "none@versus against none, by the clock: faster (2.0× higher" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("Use none@versus: n 2.0× higher, no loss shown.")
    assert 'data-lock="none@versus"' in (repo / "results/c/report.html").read_text()


def test_of_two_equal_commands_the_first_is_kept(campaign):
    options = ("--versus", "echo n: 1", "--metric", "n: ([0-9]+)", "--no-report", "--")
    _, _, done = campaign(*options, "echo", "n: 1", rounds=6)
    assert done.stdout.splitlines()[-1].startswith("Keep the first command")


def test_two_commands_under_locks(campaign, repo):
    other = f"sh -c '{repo}/build/apps/rwbench 1 90 >/dev/null; echo n: 2'"
    options = ("-l", "ba", "--versus", other, "--metric", "n: ([0-9]+)", "--no-report", "--")
    found, about, _ = campaign(*options, *program(repo, "1"))
    locks = ("none", "pthread", "ba")
    assert figures(found) == {("sh", lock): 1 for lock in locks} | {("sh", f"{lock}@versus"): 2 for lock in locks}
    assert about["against"] == "pthread"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--scan", "LOCKSWAP_SPIN"], "write NAME=VALUE,VALUE"),
        (["--scan", "LOCKSWAP_SPNI=0,1"], "no variable 'LOCKSWAP_SPNI', did you mean 'LOCKSWAP_SPIN'?"),
        (["--scan", "LOCKSWAP_RWLOCK=ba,pthread"], "to compare several locks, use --rwlock ba,pthread"),
        (["--scan", "LOCKSWAP_STATS=0,1"], "does not change how locks behave"),
        (["--scan", "LOCKSWAP_SPIN=1,"], "'' is not a value; 'lockswap list LOCKSWAP_SPIN' shows"),
        (["--scan", "A=1", "--scan", "A=2"], "--scan A is given twice"),
        (["--scan", "1=2"], "write NAME=VALUE,VALUE"),
        (["--versus", "no-such-program"], "not found in PATH"),
        (["--versus", "echo {threads}"], "{threads} is in one of the two commands only"),
        (["--versus", "'"], "--versus"),
        (["--pairs", "-l", "ba"], "name both"),
        (["--pairs"], "name both"),
    ],
)
def test_bad_input(lockswap, repo, args, says):
    assert says in one_line_error(lockswap.inside("compare", *args, "--", "true"))
    assert not list((repo / "results").iterdir())


def test_versus_needs_a_command(lockswap, recipe):
    recipe("rw")
    assert "needs a command after '--'" in one_line_error(lockswap.inside("compare", "--versus", "true"))


def test_versus_is_refused_for_servers_and_says_what_else_there_is(lockswap, repo):
    server = ("--server", "true {port}", "--load", "true")
    for more in ((), ("--", "true")):
        said = one_line_error(lockswap.inside("compare", "--versus", "true", *server, *more))
        assert "not two servers" in said and "'lockswap report A B' sets them side by side" in said
