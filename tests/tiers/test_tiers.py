"""The tiers' selections: what an edit reaches, how slices are cut, and what is known to have passed in which tree."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import changed  # noqa: E402
import costs  # noqa: E402
import entries  # noqa: E402
import graph  # noqa: E402
import imports  # noqa: E402
import slices  # noqa: E402
import state  # noqa: E402


def entry(name: str, tier: str = "test") -> entries.Entry:
    return entries.Entry(name, tier)


def test_files_of_pytest_have_their_tier(tmp_path):
    texts = {
        "a": "import pytest\n@pytest.mark.full\ndef test_one(): ...\n",
        "b": "pytestmark = pytest.mark.full\n",
        "c": "pytestmark = [\n    pytest.mark.full,\n    pytest.mark.alone,\n]\n",
    }
    (tmp_path / "tests").mkdir()
    for name, text in texts.items():
        (tmp_path / f"tests/test_{name}.py").write_text(text)
    found = {one.own_name: one.tier for one in entries.pytest_files(tmp_path)}
    assert found == {"tests/test_a.py": "test", "tests/test_b.py": "full"}


def test_the_tests_of_ctest_are_what_is_behind_their_measuring():
    folder, label = {"name": "WORKING_DIRECTORY", "value": "/b/tests/x"}, {"name": "LABELS", "value": ["full"]}
    command = ["/b/tests/measured", "x/slow", "/b/tests/x/slow", "--all"]
    preloaded = [{"name": "ENVIRONMENT", "value": ["LD_PRELOAD=/b/l.so"]}]
    tests = [{"name": "x/slow", "command": command, "properties": [folder, label]}]
    listed = {"tests": [*tests, {"name": "x/quick", "properties": preloaded}]}
    slow, quick = entries.of_ctest(listed, Path("/b"))
    assert (slow.tier, slow.words, slow.folder, slow.number) == ("full", ("/b/tests/x/slow", "--all"), "tests/x", 1)
    assert (quick.tier, quick.words, quick.number) == ("test", ("/b/l.so",), 2)


# --- slices


def test_slices_share_the_cost_and_leave_nothing_out():
    all_of_them = [entry(f"ctest:{n}") for n in range(50)]
    known = {("test", f"ctest:{n}"): float(1 + n * n % 17) for n in range(50)}
    cut = slices.cut(all_of_them, 4, known)
    assert sorted(e.name for part in cut for e in part) == sorted(e.name for e in all_of_them)
    loads = [costs.total(part, "full", known) for part in cut]
    assert max(loads) - min(loads) <= max(known.values())


def test_slices_are_the_same_whatever_the_order():
    some = [entry(f"ctest:{n}") for n in range(9)]
    assert slices.cut(some, 3, {}) == slices.cut(some[::-1], 3, {})


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "x/y"])
def test_a_slice_that_there_is_not_is_refused(text):
    with pytest.raises(ValueError, match="--slice takes K/N"):
        slices.parse(text)


# --- state


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", tmp_path, "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True
        )

    git("init", "-q", "-b", "trunk")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "a").write_text("1\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    return tmp_path


def test_a_tree_has_the_same_name_before_and_after_its_commit(checkout):
    first = state.tree(checkout)
    (checkout / "a").write_text("2\n")
    (checkout / "new").write_text("3\n")
    second = state.tree(checkout)
    assert second != first
    (checkout / "build").mkdir()
    (checkout / "build/ignored").write_text("4\n")
    assert state.tree(checkout) == second
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", checkout, "add", "-A"], check=True)
    subprocess.run(["git", "-C", checkout, *who, "commit", "-qm", "two"], check=True)
    assert state.tree(checkout) == second


def test_a_run_goes_on_where_it_ended(checkout):
    file = state.file_of(checkout / "build", checkout)
    some = [entry(f"ctest:{name}") for name in ("good", "bad", "skipped", "mended", "new")]
    for result, name in [("passed", "good"), ("failed", "bad"), ("skipped", "skipped"), ("failed", "mended")]:
        state.add(file, result, f"ctest:{name}", 1.5)
    state.add(file, "passed", "ctest:mended")
    with file.open("a") as out:
        out.write("passed\tctest:new\t0.")  # the machine stopped
    assert [e.own_name for e in state.left(some, file)] == ["bad", "new"]
    assert state.file_of(checkout / "build", checkout) == file
    assert "with changes" not in file.read_text()
    (checkout / "a").write_text("2\n")
    other = state.file_of(checkout / "build", checkout)
    assert "with changes" in other.read_text()
    assert state.left(some, other) == some


# --- costs


def test_what_became_dearer_is_said():
    recorded = {("test", "ctest:a"): 1.0, ("test", "ctest:b"): 10.0}
    found = costs.dearer({("test", "ctest:a"): 2.5, ("test", "ctest:b"): 25.0, ("test", "ctest:c"): 1.0}, recorded)
    assert [line.partition(":")[2].partition(":")[0] for line in found] == ["b", "c"]


def test_costs_are_read_as_they_were_written(tmp_path):
    known = {("test", "pytest:tests/a/test_a.py"): 3.0, ("full", "pytest:tests/a/test_a.py"): 40.5}
    costs.write(known, tmp_path / "costs.tsv")
    assert costs.read(tmp_path / "costs.tsv") == known
    file = entry("pytest:tests/a/test_a.py")
    assert (costs.cost_of(file, "test", known), costs.cost_of(file, "full", known)) == (3.0, 40.5)


# --- what an edit reaches


def test_locks_by_the_objects():
    units = {"src/CMakeFiles/lockswap_core.dir/lists/registry/rw_Ba.cpp.o", "x/lists/rw_cases_GcrBa.cpp.o"}
    assert graph.classes_of(units | {"src/x.dir/registry/rwlocks.cpp.o"}) == {("rw", "Ba"), ("rw", "GcrBa")}
    assert graph.classes_of(units | {"tests/life.dir/handlers.cpp.o"}) is None
    assert graph.classes_of({"x/rw_more_scripts.cpp.o"}) is None


@pytest.mark.parametrize(
    ("name", "lock"),
    [
        ("stress/ba/park", ("rw", "Ba")),
        ("conformance/bravo-ba/park/full", ("rw", "Ba")),
        ("conformance/mutex/mcs/park", ("mutex", "Mcs")),
        ("conformance/mutex/glibc", None),
        ("life/handlers", None),
    ],
)
def test_the_lock_in_a_name(tree, name, lock):
    assert changed.lock_in(name, changed.lock_names(tree)) == lock


class FakeGraph(graph.Graph):
    """Two locks' units and a common one, in a library; a program of its own."""

    def __init__(self, build: Path) -> None:
        self.build, root = build, build.parent
        unit = "src/core.dir/lists/registry/rw_{}.cpp.o"
        common = {f"{root}/src/wait/park.h"}
        self.includes = {
            unit.format("Ba"): common | {f"{root}/src/locks/rw/ba.h"},
            unit.format("PfT"): common | {f"{root}/src/locks/rw/pf-t.h"},
            "config.cpp.o": {f"{root}/src/config/config.h"},
            "own.cpp.o": {f"{root}/tests/x/own.h"},
            "slow.cpp.o": {f"{root}/tests/x/own.h"},
        }
        self.inputs = {"liblockswap.so": list(self.includes)[:3], "own": ["own.cpp.o"], "slow": ["slow.cpp.o"]}
        self.outputs = {*self.includes, *self.inputs}
        self.linked = {"liblockswap.so", "own", "slow"}
        self.programs = {name: name for name in self.linked}
        self.of_test = self.made_for(["liblockswap.so", "own"])

    def _query(self, targets) -> None:
        pass


LISTS = {
    "rw": 'RW_LOCK("ba", Ba, "locks/rw/ba.h", NO_WORDS)\nRW_LOCK("pf-t", PfT, "locks/rw/pf-t.h", NO_WORDS)\n',
    "mutex": 'MUTEX("mcs", Mcs, "locks/mutex/mcs.h", NO_WORDS)\n',
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    texts = {f"src/registry/{kind}_list.def": text for kind, text in LISTS.items()}
    texts |= {
        "tests/x/test_own.py": 'import helper\nPROGRAMS = ["own", "slow"]\nTABLE = "docs/table.md"\n',
        "tests/x/helper.py": "from lockswap.base import stats\n",
        "tests/x/test_other.py": "import os\n",
        "tests/x/script.py": "from lockswap.base.stats import total\n",
        "harness/lockswap/__init__.py": "",
        "harness/lockswap/base/__init__.py": "",
        "harness/lockswap/base/stats.py": "from . import numbers\n",
        "harness/lockswap/base/numbers.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def reached(tree: Path, *files: str) -> changed.Reached:
    library = str(tree / "build/liblockswap.so")
    some = [
        entries.Entry("ctest:stress/ba/park", "test", (library,), "tests/stress"),
        entries.Entry("ctest:stress/ba/park/full", "full", (library,), "tests/stress"),
        entries.Entry("ctest:stress/pf-t/park", "test", ("/usr/bin/env", f"LD_PRELOAD={library}"), "tests/stress"),
        entries.Entry("ctest:life/loader", "test", (library,), "tests/life"),
        entries.Entry("ctest:x/own", "test", (str(tree / "build/own"),), "tests/x"),
        entries.Entry("ctest:x/script", "test", ("python3", str(tree / "tests/x/script.py")), "tests/x"),
        entries.Entry("pytest:tests/x/test_own.py", "test", folder="tests/x"),
        entries.Entry("pytest:tests/x/test_other.py", "test", folder="tests/x"),
        entries.Entry("part:lint", "full"),
    ]
    return changed.reached(some, list(files), FakeGraph(tree / "build"), imports.Modules(tree), tree)


def names(some: list[entries.Entry]) -> list[str]:
    return [one.own_name for one in some]


def test_a_locks_header_reaches_that_lock_first(tree):
    found = reached(tree, "src/locks/rw/ba.h")
    assert names(found.first) == ["stress/ba/park", "stress/ba/park/full"]
    assert names(found.others) == ["life/loader"]  # not the other lock's
    assert names(changed.choose(found, {}, 200)) == ["stress/ba/park", "life/loader"]


def test_a_common_source_reaches_what_the_library_runs(tree):
    found = reached(tree, "src/config/config.h")
    assert names(found.first) == ["stress/ba/park", "stress/ba/park/full", "stress/pf-t/park", "life/loader"]
    assert found.others == []


def test_a_header_of_both_locks_reaches_both(tree):
    assert "stress/pf-t/park" in names(reached(tree, "src/wait/park.h").first)


def test_a_programs_own_header_reaches_its_tests(tree):
    assert names(reached(tree, "tests/x/own.h").first) == ["x/own", "tests/x/test_own.py"]


def test_a_program_for_the_full_tier_is_not_built_for_a_file_that_names_it(tree):
    assert reached(tree, "tests/x/own.h").targets["pytest:tests/x/test_own.py"] == ["own"]


def test_a_module_reaches_what_imports_it_and_what_imports_that(tree):
    assert names(reached(tree, "harness/lockswap/base/numbers.py").first) == ["x/script", "tests/x/test_own.py"]
    assert names(reached(tree, "tests/x/helper.py").first) == ["tests/x/test_own.py"]


def test_the_command_s_modules_reach_what_runs_it(tree):
    (tree / "harness/lockswap/__main__.py").write_text("def main():\n    from lockswap.base import stats\n")
    (tree / "tests/x/test_other.py").write_text('COMMAND = ["python", "-m", "lockswap", "list"]\n')
    found = names(reached(tree, "harness/lockswap/base/stats.py").first)
    assert found == ["x/script", "tests/x/test_own.py", "tests/x/test_other.py"]
    assert "tests/x/test_other.py" in names(reached(tree, "src/config/config.h").first)  # in what it preloads
    (tree / "tests/x/test_other.py").write_text('done = command_server.run("list")\n')
    assert "tests/x/test_other.py" in names(reached(tree, "harness/lockswap/base/stats.py").first)


def test_a_document_reaches_what_names_it(tree):
    assert names(reached(tree, "docs/table.md").first) == ["tests/x/test_own.py"]
    assert names(reached(tree, "docs/nobodys.md").first) == []


def test_a_list_of_tests_reaches_its_folder_and_the_main_one_everything(tree):
    assert names(reached(tree, "tests/x/CMakeLists.txt").first)[:2] == ["x/own", "x/script"]
    assert len(reached(tree, "CMakeLists.txt").first) == 8


def test_documents_cost_less_than_code():
    budgets = [changed.budget_for(names) for names in (["a.md"], ["a.md", "b.py"], ["a.md", "b.py", "c.h"])]
    assert budgets == sorted(set(budgets))


def test_the_choice_keeps_to_its_budget(tree):
    found = reached(tree, "src/config/config.h")
    known = {("test", "ctest:stress/ba/park"): 90.0, ("test", "ctest:stress/pf-t/park"): 150.0}
    known["test", "ctest:life/loader"] = 5.0
    assert names(changed.choose(found, known, 200)) == ["life/loader", "stress/ba/park"]


# --- what starts the tests


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("measured") / "measured"
    subprocess.run(["cc", "-O1", "-o", program, HERE / "measured.c"], check=True)
    return program


# It works for a fifth of the time, so that the test of it doesn't cost what it shows.
GETS_ON = """
i=0
while [ $i -lt 30 ]; do
  i=$((i + 1)) j=0
  while [ $j -lt 10000 ]; do j=$((j + 1)); done
  sleep 0.05
done
"""


@pytest.mark.parametrize(
    ("script", "limits", "status", "result"),
    [
        ("exit 0", {}, 0, "passed"),
        ("exit 77", {}, 77, "skipped"),
        ("exit 3", {}, 3, "failed"),
        ("kill -9 $$", {}, 1, "failed"),
        ("sleep 60 & sleep 60", {"TEST_IDLE_SECONDS": "1"}, 1, "ended"),
        ("(while :; do :; done) & wait", {"TEST_CPU_SECONDS": "0.3"}, 1, "ended"),
        # Longer than the limit by the clock, but it gets on.
        (GETS_ON, {"TEST_IDLE_SECONDS": "1"}, 0, "passed"),
    ],
)  # fmt: skip
def test_a_test_is_ended_by_its_processor_time(measured, tmp_path, script, limits, status, result):
    record = tmp_path / "record"
    environment = {"PATH": "/usr/bin:/bin", "TEST_RECORD": str(record), **limits}
    ran = subprocess.run([measured, "a/test", "sh", "-c", script], env=environment, capture_output=True, text=True)
    assert ran.returncode == status, ran.stderr
    said, name, cpu, _ = record.read_text().split("\t")
    assert (said, name) == (result, "ctest:a/test")
    if "TEST_CPU_SECONDS" in limits:
        assert float(cpu) >= float(limits["TEST_CPU_SECONDS"])


@pytest.mark.parametrize(("has_it", "fixed"), [("__tsan_init", True), ("__tsan", False)])
def test_a_program_with_threadsanitizer_has_fixed_addresses(measured, tmp_path, has_it, fixed):
    source = tmp_path / "program.c"
    source.write_text(
        "#include <sys/personality.h>\n"
        f'const char* const text = "{has_it}";\n'
        "int main(void) { return (personality(0xffffffff) & ADDR_NO_RANDOMIZE) != 0 ? 7 : 0; }\n"
    )
    subprocess.run(["cc", source, "-o", tmp_path / "program"], check=True)
    if subprocess.run(["setarch", "-R", tmp_path / "program"], check=False).returncode != 7:
        pytest.skip("personality() is forbidden here")
    ran = subprocess.run([measured, "a/test", tmp_path / "program"], env={"PATH": "/usr/bin:/bin"}, check=False)
    assert ran.returncode == (7 if fixed else 0)


def test_a_test_that_gets_no_processor_is_no_hang(measured, tmp_path):
    """Others have nearly all of it, so it uses less than one in a hundred for longer than the limit."""
    processor = str(min(os.sched_getaffinity(0)))
    starved = "chrt --idle 0 sh -c 'i=0; while [ $i -lt 6000 ]; do i=$((i + 1)); done'"
    with subprocess.Popen(["taskset", "-c", processor, "sh", "-c", "while :; do :; done"]) as other:
        try:
            ran = subprocess.run(
                [measured, "a/test", "taskset", "-c", processor, "sh", "-c", starved],
                env={"PATH": "/usr/bin:/bin", "TEST_IDLE_SECONDS": "1"}, capture_output=True, text=True,
            )  # fmt: skip
        finally:
            other.kill()
    assert ran.returncode == 0, ran.stderr
