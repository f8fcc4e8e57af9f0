"""`lockswap compare --range`: programs that call range locks."""

import csv

from harness_support import one_line_error
from lockswap.base.registry import Registry


def rows(repo):
    with (repo / "results/c/raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_lock_is_named_in_the_environment(lockswap, repo):
    done = lockswap(
        "compare", "--out", "results/c", "--range", "LIST-RW,rwlock:pf-q", "--against", "range:rwlock", "-r", "2",
        "--no-report", "--metric", "length: ([0-9]+)", "--", "sh", "-c", "echo length: ${#LOCKSWAP_RANGE}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lengths = {row["lock"]: row["metric.length"] for row in rows(repo)}
    assert lengths == {"none": "0", "pthread": "0", "range:list-rw": "7", "range:rwlock": "6", "range:rwlock:ba": "9"}
    assert {row["status"] for row in rows(repo)} == {"ok"}


def test_a_workload_is_run_under_the_kind_that_it_takes(lockswap, repo, recipe):
    recipe("rw")
    recipe("ranges", replace={"threads = [1, 2]": 'threads = [1, 2]\ntakes = ["range"]'})
    done = lockswap(
        "compare", "--out", "results/c", "-w", "rw,ranges", "-l", "ba", "--range", "list-rw", "-t", "1", "-r", "1",
        "--no-report",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {(row["workload"], row["lock"]): (row["status"], row["detail"]) for row in rows(repo)}
    assert {key for key, (status, _) in found.items() if status == "ok"} == {
        *(("rw", lock) for lock in ("none", "pthread", "ba")),
        *(("ranges", lock) for lock in ("none", "pthread", "range:list-rw")),
    }
    says = "takes only {}, as its recipe says; --{} chooses what they are swapped for"
    assert found["ranges", "ba"] == ("no lock", says.format("range locks", "range"))
    assert found["rw", "range:list-rw"] == ("no lock", says.format("rwlocks", "rwlock"))


def test_wrong_names(lockswap):
    for name, says in {
        "list-rx": "did you mean 'list-rw'?",
        "list-rw:ba": "no option 'ba' (there are: writers-first, unfair)",
        "list-rw:unfiar": "did you mean 'unfair'?",
        "plain-tree:unfair": "takes no options",
        "rwlock:list-rw": "no rwlock 'list-rw'",
    }.items():
        done = lockswap("compare", "--range", name, "--", "true")
        assert says in one_line_error(done)


def test_list_shows_them(lockswap):
    assert "(3 range locks)" in lockswap("list").stdout
    shown = lockswap("list", "ranges").stdout
    assert "rwlock[:RWLOCK]" in shown
    assert "list-rw[:writers-first][:unfair]" in shown
    assert "list-rw:writers-first and list-rw:unfair" in lockswap("list", "list-rw").stdout


def test_options_stand_behind_the_name_in_one_order(repo):
    registry = Registry.load(type("Paths", (), {"registry": repo / "build/bin/lockswap-registry"}))
    for typed in ("LIST-RW:Unfair:writers-first", "range:list-rw:writers-first:unfair"):
        assert registry.range_lock(typed) == "range:list-rw:writers-first:unfair"


def test_every_range_lock_has_a_name(repo):
    registry = Registry.load(type("Paths", (), {"registry": repo / "build/bin/lockswap-registry"}))
    assert [registry.range_lock(lock.name) for lock in registry.range_locks] == [
        "range:list-rw",
        "range:rwlock",
        "range:plain-tree",
    ]
