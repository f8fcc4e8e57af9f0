"""Wrong models are noticed: what papers and tables say, and counts of lines, turn from right to wrong under each."""

import csv
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import tomli_w

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import folly  # noqa: E402
import planted  # noqa: E402

from lockswap.predict import claims, machines, model, statements, validation, workloads  # noqa: E402
from lockswap.predict.bands import Band, Subject  # noqa: E402
from lockswap.predict.measured import Place  # noqa: E402

ROOT = HERE.parents[1]
MODEL = ROOT / "build/bin/lockswap-model"
PEERS = ROOT / "build/bin/lockswap-model-peers"
COUNTS = ROOT / "build/tests/predict/cost_counts_test"
BOOK = statements.read(ROOT / "predict/statements.toml")
DRAWS = 8
# What was predicted of a machine with two processors, and then measured there.
VALIDATED = ROOT / "results/predictions/2026-11-29-two-processors.json"

FREE_SCANS = planted.Fault(
    "src/multicore/cost/machine.cpp",
    "    ns += has(line, place().core) ? costs_.hit : costs_.stream;\n",
    "",
)
# A line serves all who ask for it at once.
NO_ARBITRATION = planted.Fault(
    "src/multicore/cost/machine.cpp",
    "  if (line.busy || line.waiting.empty()) return;\n",
    "  if (line.waiting.empty()) return;\n",
)
# Each thread has a processor of its own, however few the machine has. Several are on one core then, so the nearest
# can't come first: the others would never have a line.
NO_SCHEDULER = planted.Fault(
    "src/multicore/cost/machine.cpp",
    "  costs_ = costs;\n",
    "  costs_ = costs;\n"
    "  while (costs_.place.size() < static_cast<std::size_t>(threads))\n"
    "    costs_.place.push_back(costs_.place[costs_.place.size() - costs.place.size()]);\n"
    "  costs_.arbitration = Arbitration::first_come;\n",
)
# The parts of a lock for two processors lie on one line.
FALSE_SHARING = planted.Fault("src/locks/rw/per-cpu.h", "struct alignas(128) PerCpuPart {", "struct PerCpuPart {")

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not all(program.exists() for program in (MODEL, PEERS, COUNTS)),
        reason="the model isn't built: ninja -C build lockswap-model lockswap-model-peers cost_counts_test",
    ),
]


def _as_it_is(machine: machines.Machine) -> machines.Machine:
    return machine


def _shuffled(machine: machines.Machine) -> machines.Machine:
    """The same latencies, but between other cores."""
    cores = range(len(machine.latency_ns))
    pairs = [(a, b) for a in cores for b in cores if a < b]
    values = [machine.latency_ns[a][b] for a, b in pairs]
    random.Random(1).shuffle(values)
    table = [list(row) for row in machine.latency_ns]
    for (a, b), value in zip(pairs, values, strict=True):
        table[a][b] = table[b][a] = value
    return replace(machine, latency_ns=tuple(map(tuple, table)))


def held(question: str, rules: tuple[str, ...], program: Path = MODEL, change: Callable = _as_it_is) -> list[bool]:
    """Which of the rules of a question's statements hold."""
    asked = BOOK.questions[question]
    machine = change(machines.find(ROOT / "predict/machines", asked.machine))
    workload = workloads.find(ROOT / "predict/workloads.toml", asked.workload)
    mine = [rule for one in BOOK.statements if one.question == question for rule in one.rules if rule.text in rules]
    assert len(mine) == len(rules)
    places = {where for rule in mine for where in (rule.top, rule.bottom)}
    subjects = tuple(subject for subject in asked.subjects if str(subject) in {lock for lock, _ in places})
    threads = tuple(sorted({count for _, count in places}))
    virtual_ns = asked.virtual_ms * 1e6
    points = model.ask(program, model.Question(machine, workload, asked.writes, subjects, threads, DRAWS, virtual_ns))
    one = statements.Statement("", "", "", "", question, tuple(mine))
    return [outcome.holds for outcome in statements.judge(one, points)]


def turns(question: str, *rules: str, **wrong) -> bool:
    """Whether all rules hold under the model, and none does under a wrong one."""
    return all(held(question, rules)) and not any(held(question, rules, **wrong))


def test_a_shuffled_matrix():
    assert turns("rwbench-50", "cohort@36 / ba@36 >= 1.1", change=_shuffled)


def fails(program: Path, case: str) -> str:
    """What it prints; the case must pass in the program as the build has it."""
    words = f"--gtest_filter={case}"
    there = ROOT / "build/tests/predict" / program.name
    assert subprocess.run([there, words], capture_output=True).returncode == 0
    done = subprocess.run([program, words], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stdout


def test_scans_that_cost_nothing(tmp_path):
    program = planted.build("cost_machine_test", "tests/predict/cost_machine_test", FREE_SCANS, tmp_path)
    fails(program, "Machine.AScanTakesAboutANanosecondForEachSlot")


def test_readers_after_a_scan_that_costs_nothing(tmp_path):
    """No statement of a paper notices these: they make BRAVO faster, and papers have it faster than the model does."""
    program = planted.build("cost_revocation_test", "tests/predict/cost_revocation_test", FREE_SCANS, tmp_path)
    said = fails(program, "RevocationForm.ReadersAreSlowForAsManyScansAsTheGuardSays")
    assert said.count("a write every") == 3


def test_lines_that_serve_all_at_once(tmp_path):
    program = planted.build("lockswap-model", "bin/lockswap-model", NO_ARBITRATION, tmp_path)
    assert turns("faults", "pf-t@80 / per-cpu@80 <= 0.32", program=program)


def _inside(program: Path) -> float:
    """The share of a table's rows of raw atomics that are in their bands."""
    kinds = {"atomics_fetch_add": "fetch-add-5", "atomic_fetch_xor": "fetch-add", "atomic_cas": "compare-exchange"}
    with (HERE / "evidence/raw_atomics.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["machine"].endswith("E5-2680 v4")
            and row["benchmark"] in kinds
            and row["threads"] in ("8", "16", "32")
        ]
    machine = machines.find(ROOT / "predict/machines", "e5-2680-v4")
    loop = folly.LOOP_NS[machine.name]
    asked = [folly.raw_question(kinds[row["benchmark"]], loop, int(row["threads"])) for row in rows]
    folly.PROGRAM = program
    found = folly.drawn(machine, loop, asked, DRAWS)
    inside = 0
    for row, answers in zip(rows, found, strict=True):
        band = Band.of([f["ns"] * int(row["threads"]) / max(1, f["writes"]) for f in answers])
        inside += band.low <= float(row["ns_per_iteration"]) <= band.high
    return inside / len(rows)


def test_a_table_notices_lines_that_serve_all_at_once(tmp_path):
    program = planted.build("lockswap-model-peers", "bin/lockswap-model-peers", NO_ARBITRATION, tmp_path)
    assert _inside(PEERS) >= 0.5
    assert _inside(program) == 0


def test_threads_that_never_share_a_processor(tmp_path):
    program = planted.build("cost_scheduler_test", "tests/predict/cost_scheduler_test", NO_SCHEDULER, tmp_path)
    for case in (
        "ThreadsThatWorkShareTheProcessors",
        "PollersKeepTheProcessorsFromTheOneThatTheyWaitFor",
        "AWokenThreadWaitsForTheEndOfASliceUnlessItPreempts",
    ):
        fails(program, f"Scheduler.{case}")


def claimed(program: Path) -> set[tuple[str, str]]:
    """Which lock is claimed to be faster than which, with more threads than processors."""
    machine = machines.find(
        ROOT / "predict/machines", str(ROOT / "results/predictions/2026-11-29-sharing-machine.toml")
    )
    workload = workloads.find(ROOT / "predict/workloads.toml", "rwbench")
    subjects = tuple(Subject(lock, "rwlock") for lock in (model.GLIBCS, "ba"))
    points = model.ask(program, model.Question(machine, workload, 0.1, subjects, (4,), DRAWS // 2, 1e6))
    return {(claim.faster, claim.slower) for claim in claims.Claims.of(points).made}


def test_the_order_of_locks_turns_without_a_scheduler(tmp_path):
    program = planted.build("lockswap-model", "bin/lockswap-model", NO_SCHEDULER, tmp_path)
    right = {(model.GLIBCS, "ba")}
    assert claimed(MODEL) == right
    assert claimed(program) != right


def test_a_lock_with_two_words_on_one_line(tmp_path):
    program = planted.build("cost_counts_test", "tests/predict/cost_counts_test", FALSE_SHARING, tmp_path)
    assert "per-cpu" in fails(program, "Counts.ReadersOnLinesOfTheirOwnMoveNothing")


def measured_and_predicted(program: Path, lock: str, folder: Path) -> tuple[float, Band]:
    """Two threads that only read: operations per second, as they were measured, and as the program has them."""
    found = validation.read(VALIDATED)
    file = folder / "machine.toml"
    file.write_text(tomli_w.dumps(found.about["machine"]), encoding="utf-8")
    machine, loop = machines.find(folder, str(file)), found.about["floor_ns"]
    workload = replace(workloads.find(ROOT / "predict/workloads.toml", "pairs"), step_ns=(loop, loop), outside_steps=1)
    (point,) = model.ask(program, model.Question(machine, workload, 0, (Subject(lock, "rwlock"),), (2,), DRAWS, 5e5))
    (row,) = (row for row in found.rows if row.place == Place(lock, "rwlock", 0.0, 2))
    return row.measured.middle, point.band


def test_a_measured_row_notices_a_lock_with_two_words_on_one_line(tmp_path):
    program = planted.build("lockswap-model", "bin/lockswap-model", FALSE_SHARING, tmp_path)
    measured, right = measured_and_predicted(MODEL, "per-cpu", tmp_path)
    assert right.low <= measured <= right.high
    _, wrong = measured_and_predicted(program, "per-cpu", tmp_path)
    assert wrong.high < measured / 2
