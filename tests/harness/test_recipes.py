"""Recipes: what is read, and that nothing wrong is read silently."""

import json

import pytest

from harness_support import MUTEX_RECIPE, ROOT
from lockswap.base.errors import UserError
from lockswap.recipes import judge, reader, recipe
from lockswap.recipes.judge import WrongResult
from lockswap.recipes.output import Counts, Output

# The end of the first metric, after which a key may be added.
WORKLESS = 'reads/s: ([0-9.]+)\'\nbetter = "higher"'


def test_a_recipe_is_read(recipe):
    read = reader.load(recipe("rw"))
    assert read.name == "rw" and read.quick and not read.by_name
    assert [metric.role for metric in read.metrics] == ["reads", "writes"]
    assert read.params == {"count": 20000} and read.quick_params == {"count": 5000}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("title =", "titel =", "titel"),
        ("fixed_work =", "fixed_wrok =", "is not a key that recipes have; is 'fixed_work' meant?"),
        ("schema = 1", "schema = 9", "schema"),
        ('name = "rw"', 'name = "other"', "rw.toml"),
        ("threads = [1, 2]", "threads = []", "threads"),
        ("threads = [1, 2]", 'threads = ["1"]', "threads"),
        ("threads = [1, 2]\n", "", "threads: is missing"),
        ("'reads/s: ([0-9.]+)'", "'reads/s: [0-9.]+'", "metric[0].regex"),
        ("'reads/s: ([0-9.]+)'", "'reads/s: (['", "is not a valid regex"),
        ('better = "higher"\n[[metric]]', 'better = "up"\n[[metric]]', "metric[0].better"),
        ("{count}", "{cuont}", "{cuont}"),
        ("{count}", "{seconds}", "fixed_work"),
        ("[[expect]]", "[[expect]]\nno_match = 'x'", "exactly one"),
        ("acquisitions_per_operation = 1.0", "acquisitions_per_op = 1.0", "acquisitions_per_op"),
        ("operations = 'operations: ([0-9]+)'\n", "", "operations"),
        ('tags = ["quick"]', 'tags = ["fast"]', "fast"),
        ("params.quick.count", "params.quick.size", "params.size"),
        ("params.default.count", "params.default.threads", "params.threads"),
        ("fixed_work = true", "fixed_work = 1", "true or false"),
        ("fixed_work = true", "fixed_work = true\nrun_s = 0", "run_s: must be more than 0"),
        ("fixed_work = true", "run_s = 2", "needs fixed_work = true"),
        ("schema = 1", "schema = = 1", "rw.toml"),
        *(
            (WORKLESS, WORKLESS + f'\nwork = "{work}"', "metric[0].work")
            for work in ("count", "2 + 3", "{count} *", "")
        ),
        (WORKLESS, WORKLESS + '\nwork = "{seconds}"', "{seconds} is neither"),
        ("[[expect]]", '[[variant]]\nname = "a"\n[[expect]]', "variant[0].title"),
        ("[[expect]]", '[[variant]]\nname = "a b"\ntitle = "t"\n[[expect]]', "variant[0].name"),
        ("[[expect]]", '[[variant]]\nname = "a"\ntitle = "t"\nparams.size = 1\n[[expect]]', "params.size"),
        ("[[expect]]", '[[variant]]\nname = "a"\ntitle = "t"\n' * 2 + "[[expect]]", "same name"),
        (WORKLESS, WORKLESS.replace("higher", "lower") + '\nwork = "2"', "better"),
    ],
)
def test_a_mistake_is_named(recipe, old, new, says):
    path = recipe("rw", replace={old: new})
    with pytest.raises(UserError) as error:
        reader.load(path)
    assert "rw.toml" in str(error.value) and says in str(error.value)
    assert "\n" not in str(error.value)


def test_work_turns_a_time_into_a_rate(recipe):
    read = reader.load(recipe("rw", replace={WORKLESS: WORKLESS + '\nwork = "2 * {threads} * {count}"'}))
    values = {"threads": 4, "count": 1000, "seconds": 1}
    assert judge.metrics(read, Output("reads/s: 0.5\nwrites/s: 1", ""), values, 9.0, 9.0)["reads"] == 16000
    with pytest.raises(WrongResult, match="too short"):
        judge.metrics(read, Output("reads/s: 0.0\nwrites/s: 1", ""), values, 9.0, 9.0)


def test_placeholders():
    assert recipe.fill("--db={tmp}/x{{y}}", {"tmp": "/t"}) == "--db=/t/x{y}"


def test_choice_of_workloads(recipe, repo):
    recipe("a", replace={'tags = ["quick"]': 'tags = ["long"]'})
    recipe("b", replace={'tags = ["quick"]': "tags = []"})
    recipe("c")
    found = reader.load_all(repo / "apps/recipes")

    def names(chosen):
        return [one.name for one in chosen]

    assert names(reader.choose(found, [], quick=False)) == ["c", "b"]
    assert names(reader.choose(found, [], quick=True)) == ["c"]
    assert names(reader.choose(found, ["a"], quick=False)) == ["a"]
    (repo / "apps/recipes/b-mutexes.toml").write_text(MUTEX_RECIPE.format(name="b-mutexes"))
    found = reader.load_all(repo / "apps/recipes")
    # What is about rwlocks comes first, and workloads without the locks that are swapped are left out.
    assert names(reader.choose(found, [], quick=False)) == ["c", "b", "b-mutexes"]
    assert names(reader.choose(found, [], quick=True, kinds={"mutex"})) == ["b-mutexes"]
    assert names(reader.choose(found, [], quick=False, kinds={"rwlock"})) == ["c", "b"]
    with pytest.raises(UserError, match="no workload 'd'"):
        reader.choose(found, ["d"], quick=False)


def test_metrics_are_aggregated_and_scaled(recipe):
    path = recipe("rw", replace={"regex = 'reads/s: ([0-9.]+)'": "regex = 'n=([0-9,.e]+)'\nagg = \"sum\"\nscale = 0.5"})
    read = reader.load(path)
    output = Output("n=1,000\nn=2e3\n", "writes/s: 7")
    assert judge.metrics(read, output, {}, 0.0, 0.0) == {"reads": 1500, "writes": 7}


def test_a_missing_metric_is_a_wrong_result(recipe):
    with pytest.raises(WrongResult, match="reads"):
        judge.metrics(reader.load(recipe("rw")), Output("", ""), {}, 0.0, 0.0)


def test_rates_from_counts(recipe):
    path = recipe("rw", replace={"fixed_work = true": "", "'reads/s: ([0-9.]+)'": "'reads=(.*)'\nper = \"second\""})
    metrics = judge.metrics(reader.load(path), Output("reads=100\nwrites/s: 1", ""), {"seconds": 4}, 0.0, 0.0)
    assert metrics["reads"] == 25


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("match = '^ok$'", "x\nok\n", "not ok"),
        ("no_match = 'error'", "fine", "an error"),
        ("equal = '([0-9]+) of ([0-9]+)'", "3 of 3, 4 of 4", "3 of 3, 3 of 4"),
        ("equal = '([0-9]+) of ([0-9]+)'", "3 of 3", "nothing"),
        ("regex = 'n=(\\d+)'\nat_least = 5", "n=5", "n=4"),
        ("regex = 'n=(\\d+)'\nat_most = 5", "n=5", "n=6"),
    ],
)
def test_expectations(recipe, text, good, bad):
    read = reader.load(recipe("rw", replace={"match = '^result: ok'": text}))
    judge.check_expectations(read.expect, Output(good, ""))
    with pytest.raises(WrongResult, match="its own check"):
        judge.check_expectations(read.expect, Output(bad, ""))


def test_lock_check_counts(recipe):
    check = reader.load(recipe("rw")).lock_check
    enough = Counts(1, 100, 1, {"reads": 90, "writes": 10})
    assert judge.lock_check_failure(check, enough, Output("operations: 100", "")) is None
    assert "100 acquisitions for 200" in judge.lock_check_failure(check, enough, Output("operations: 200", ""))
    assert "not in its output" in judge.lock_check_failure(check, enough, Output("", ""))
    assert "0 rwlock calls" in judge.lock_check_failure(check, Counts(1), Output("operations: 1", ""))
    assert "not loaded" in judge.lock_check_failure(check, Counts(), Output("operations: 1", ""))


def test_lock_check_counts_mutexes_where_those_are_swapped(repo):
    path = repo / "apps/recipes/m.toml"
    path.write_text(MUTEX_RECIPE.format(name="m"))
    check, output = reader.load(path).lock_check, Output("operations: 100", "")

    def failure(calls: int, kinds=("mutex",), rwlock_calls: int = 0, one_will_do: bool = False, **totals: int):
        counts = Counts(1, rwlock_calls, 1, {"reads": rwlock_calls}, calls, 1, totals)
        return judge.lock_check_failure(check, counts, output, kinds, one_will_do)

    assert failure(200, acquisitions=100) is None
    assert failure(198, acquisitions=99) == "99 mutex acquisitions for 100 operations; at least 1 for each expected"
    # rwlocks that were taken do not make up for mutexes that were not.
    assert "0 mutex calls seen" in failure(0, rwlock_calls=500)
    assert "none of 7 mutex calls" in failure(7, to_glibc=7)
    both = ("rwlock", "mutex")
    assert "0 rwlock calls seen" in failure(200, both, acquisitions=100)
    assert failure(200, both, rwlock_calls=100, acquisitions=100) is None
    # Nobody said which of them a command of the user's own takes.
    assert failure(200, both, one_will_do=True, acquisitions=100) is None
    neither = failure(0, both, one_will_do=True)
    assert "0 rwlock calls seen" in neither and "0 mutex calls seen" in neither


def test_variants_are_workloads(recipe, repo):
    variants = "".join(f'[[variant]]\nname = "{n}"\ntitle = "{n} of them"\nparams.count = {n}\n' for n in (7, 9))
    recipe("many", replace={"[[expect]]": variants + "[[expect]]"})
    recipe("one")
    found = reader.load_all(repo / "apps/recipes")
    assert list(found) == ["many-7", "many-9", "one"]
    assert found["many-9"].params == {"count": 9} and found["many-9"].title.endswith(", 9 of them")
    assert [r.name for r in reader.choose(found, ["many", "many-7"], quick=False)] == ["many-7", "many-9"]
    assert [r.name for r in reader.choose(found, ["one", "many-9"], quick=False)] == ["one", "many-9"]
    with pytest.raises(UserError, match="many-7"):
        reader.choose(found, ["man"], quick=False)


def test_workloads_of_structures_are_only_found_by_their_names(recipe, repo):
    recipe("a")
    folder = repo / "structures/apps/recipes"
    folder.mkdir(parents=True)
    recipe("set", replace={"[[expect]]": '[[variant]]\nname = "2"\ntitle = "two"\n[[expect]]'}).rename(
        folder / "set.toml"
    )
    found = reader.load_all(repo / "apps/recipes", folder)
    assert [(one.name, one.of_structures) for one in found.values()] == [("a", False), ("set-2", True)]
    for names in ([], [reader.ALL]):
        for quick in (True, False):
            assert [one.name for one in reader.choose(found, names, quick)] == ["a"]
    assert [one.name for one in reader.choose(found, ["set"], quick=False)] == ["set-2"]
    assert [one.name for one in reader.choose(found, ["set-2"], quick=False)] == ["set-2"]


def test_list_speaks_of_locks_and_has_one_line_for_the_structures(lockswap, recipe, repo):
    recipe("a")
    assert "structures" not in lockswap("list").stdout, "there are none"
    folder = repo / "structures/apps/recipes"
    folder.mkdir(parents=True)
    recipe("set").rename(folder / "set.toml")
    for what in ([], ["workloads"]):
        lines = lockswap("list", *what).stdout.splitlines()
        said = "Structures that are not locks: 'lockswap list structures' (1 workload)."
        assert [line for line in lines if "structures" in line] == [said]
        assert not any(line.split()[:1] == ["set"] for line in lines)
    assert "'list workloads' (1)" in " ".join(lockswap("list").stdout.split())
    assert any(line.split()[:1] == ["set"] for line in lockswap("list", "structures").stdout.splitlines())
    assert lockswap("list", "set").stdout.startswith("set, a workload")


def test_campaigns_that_name_nothing_look_at_mutexes_too():
    found = reader.load_all(ROOT / "apps/recipes")

    def of_mutexes(quick: bool) -> set[str]:
        return {one.name for one in reader.choose(found, [], quick) if one.takes[0] == "mutex"}

    assert of_mutexes(quick=False) == {"kcutiltest-cond", "cache-bench", "db-bench-fill", "memcached"}
    assert of_mutexes(quick=True) == {"kcutiltest-cond", "cache-bench"}


def test_the_counts_of_all_processes_are_added_up(tmp_path):
    for pid in (1, 2):
        one = {
            "program": "p",
            "calls": pid,
            "locks": 10 * pid,
            "totals": {"reads": 100 * pid},
            "mutexes": {"calls": 2 * pid, "locks": 20 * pid, "totals": {"acquisitions": 200 * pid}},
            "policy": {"rules": [{"rwlocks": pid, "mutexes": pid}]},
        }
        (tmp_path / f"stats.{pid}").write_text(json.dumps(one))
    (tmp_path / "stats.3").write_text('{"program": "other", "calls": 1000}')
    counts = judge.read_counts(tmp_path / "stats", "p")
    assert counts == Counts(2, 3, 30, {"reads": 300}, 6, 60, {"acquisitions": 600}, 6)
    assert judge.read_counts(tmp_path / "stats").calls == 1003
