"""From values to sentences, warnings and the gate: small campaigns made up round by round."""

import random
from collections.abc import Callable

import pytest

from lockswap.findings import advice, gate, sentences, verdict
from lockswap.findings.loading import workload_of
from lockswap.findings.measured import Campaign
from lockswap.records.row import Row

OPS = {"name": "ops", "role": "total", "unit": "ops/s", "better": "higher"}
LOCKS = ["none", "pthread", "ba"]


def campaign(
    value: Callable[[str, int, int], float | dict[str, float]],
    metrics: list[dict] | None = None,
    rounds: int = 8,
    locks: list[str] | None = None,
    change: Callable[[Row], None] = lambda row: None,
    env: dict | None = None,
    info: dict | None = None,
    **about,
) -> Campaign:
    """One workload with 2 threads: value(lock, round, second_run) is what the run gives; a number is that of
    the first figure."""
    metrics = metrics or [OPS]
    locks = locks or LOCKS
    rows = []
    for number in range(1, rounds + 1):
        for lock, second_run in (*((lock, 0) for lock in locks), ("none", 1)):
            found = value(lock, number, second_run)
            found = found if isinstance(found, dict) else {metrics[0]["name"]: found}
            numbers = {"wall_s": found.pop("wall_s", 1.0), "cpu_s": found.pop("cpu_s", 2.0)}
            rows.append(Row(0, number, "w", lock, 2, "ok", second_run=second_run, numbers=numbers, metrics=found))
            change(rows[-1])
    about = {"locks": locks, "finished": True, "repeats": rounds, "name": "c", **about}
    info = {"name": "w", "title": "W", "threads": [2], "metric": metrics, "fixed_work": True, **(info or {})}
    return Campaign(about, env or {}, rows, [workload_of(info, about, rows)])


def steady(factor: float = 1.0, noise: float = 0.01, seed: int = 1) -> Callable:
    dice = random.Random(seed)
    return lambda lock, number, second_run: 1000 * dice.lognormvariate(0, noise) * (factor if lock == "ba" else 1)


def said(found: Campaign) -> str:
    return "\n".join(sentences.of(found.workloads[0]))


def warned(found: Campaign) -> str:
    return "\n".join(map(str, advice.of(found)))


def test_a_difference_below_the_noise_floor_is_not_claimed():
    def noisy(lock, number, second_run):
        # Under 'ba' always 5 % more; without lockswap the two runs of a round lie up to 10 % apart.
        return {"none": 1000 * (1.1 if (number + second_run) % 2 else 1), "pthread": 1000, "ba": 1050}[lock]

    found = campaign(noisy)
    assert "can't tell with 2 threads (1.05× to 1.05× higher, but equals differed by up to 1.10×)" in said(found)
    assert "w: 1 difference no larger than the noise floor (up to 1.10×" in warned(found)
    calm = campaign(lambda lock, number, second_run: {"none": 1000, "pthread": 1000, "ba": 1050}[lock] + number % 2)
    assert "ba against pthread, by the clock: faster with 2 threads (1.05×" in said(calm)
    assert "noise floor" not in warned(calm)


def test_by_the_clock_and_per_cpu_second_are_told_apart():
    """As many operations a second, but with twice the CPU: waiting by spinning."""
    spinning = campaign(
        lambda lock, number, second_run: {"ops": 1000 + number % 3, "cpu_s": 2.0 if lock == "ba" else 1.0}
    )
    text = said(spinning)
    assert "ba against pthread, by the clock: the same within 1.03× with 2 threads." in text
    assert "ba against pthread, per CPU-second: slower with 2 threads (2.0× lower" in text


def test_cpu_seconds_decide_what_the_clock_leaves_open():
    dice = random.Random(3)

    def shared(lock, number, second_run):
        """Others take the CPUs away: the clock varies by 40 %, CPU seconds do not."""
        wall = dice.uniform(1, 1.6)
        return {"ops": 1000 / wall, "wall_s": wall, "cpu_s": 1.2 if lock == "ba" else 1.0}

    text = said(campaign(shared))
    assert "by the clock: can't tell with 2 threads" in text
    assert "ba against pthread, per CPU-second: slower with 2 threads (1.20× lower" in text
    leading = said(campaign(shared, per_cpu=True))
    assert leading.startswith("ba against pthread, per CPU-second: slower") and "ba against pthread, by" not in leading


def test_a_verdict_that_busy_rounds_change_is_given_with_and_without_them():
    def disturbed(lock, number, second_run):
        return 1000 + number if lock != "ba" else 500 if number > 8 else 1100 + 3 * number

    def mark(row):
        row.disturbed = int(row.round > 8 and row.lock == "ba")

    found = campaign(disturbed, rounds=12, change=mark)
    text = said(found)
    assert "ba against pthread, by the clock: can't tell" in text
    assert "ba against pthread, by the clock, without the busy rounds: faster with 2 threads (1.1" in text
    assert found.workloads[0].busy_rounds(2) == {9, 10, 11, 12}

    def two(lock, number, second_run):
        return {"ops": disturbed(lock, number, second_run), "more": disturbed(lock, number, second_run)}

    # Nor is it lost where two figures that leave all open would share a sentence.
    text = said(campaign(two, metrics=[OPS, OPS | {"name": "more"}], rounds=12, change=mark))
    assert text.count("without the busy rounds: faster with 2 threads") == 2
    assert "without the busy rounds" not in said(campaign(steady(1.1), change=lambda row: None))


LIVE = [
    {"name": "live", "role": "time", "unit": "ns", "better": "lower", "kept": "kept", "instead": "pairs"},
    {"name": "pairs", "role": "total", "unit": "pairs/s", "better": "higher"},
    {"name": "kept", "role": "info", "unit": "", "better": "higher"},
]


@pytest.mark.parametrize(("kept", "all_time"), [(0.29, True), (0.31, False)])
def test_too_few_live_stretches_make_all_the_time_count(kept, all_time):
    """Live, 'ba' looks twice as good; over all the time it is half as good."""

    def value(lock, number, second_run):
        good = {"live": 50.0 + number % 2, "pairs": 1000.0, "kept": 0.6}
        return good if lock != "ba" else {"live": 25.0 + number % 2, "pairs": 500.0, "kept": kept}

    found = campaign(value, metrics=LIVE)
    workload = found.workloads[0]
    ratio = workload.ratio(2, "ba", workload.metrics[0])
    assert ratio.verdict == ("slower" if all_time else "faster")
    assert ("ba is judged on all its time (pairs)" in said(found)) == all_time
    if all_time:
        assert "29 % with 2 threads (60 % without lockswap)" in said(found)


def test_a_round_without_live_stretches_gives_no_live_ratio():
    def value(lock, number, second_run):
        if lock == "ba" and number == 3:
            return {"live": 0.0, "pairs": 900.0, "kept": 0.0}
        return {"live": 25.0 if lock == "ba" else 50.0, "pairs": 1000.0, "kept": 0.6}

    workload = campaign(value, metrics=LIVE).workloads[0]
    ratio = workload.ratio(2, "ba", workload.metrics[0])
    assert (ratio.n, ratio.estimate, ratio.high) == (7, 2, 2)


def test_of_what_never_happens_nothing_is_said():
    reads = OPS | {"name": "reads", "role": "reads"}
    writes = OPS | {"name": "writes", "role": "writes"}
    value = steady(1.3)
    found = campaign(lambda *which: {"reads": value(*which), "writes": 0.0}, metrics=[reads, writes])
    assert "ba (reads) against pthread" in said(found) and "writes" not in said(found)
    assert gate.check(found, 0.97).lines()[-1].endswith("(1 ratio shown to be above, 0 can't tell)")


def test_another_baseline():
    found = campaign(steady(1.3), locks=["none", "pthread", "wp", "ba"], against="wp")
    text = said(found)
    assert "ba against wp, by the clock: faster" in text and "wp against" not in text
    assert "The preload itself (pthread against none" in text


@pytest.mark.parametrize(
    ("factor", "noise", "violated", "says"),
    [
        (0.8, 0.01, True, "below 0.97"),
        (1.0, 0.001, False, "1 ratio shown to be above, 0 can't tell"),
        (0.97, 0.05, False, "can't tell whether it is below 0.97"),
        (1.2, 0.01, False, "passed"),
    ],
)
def test_gate(factor, noise, violated, says):
    gated = gate.check(campaign(steady(factor, noise)), 0.97)
    assert bool(gated.violations) == violated
    assert any(says in line for line in gated.lines())
    assert gated.lines()[-1].startswith(f"gate: {'FAILED' if violated else 'passed'}")
    if violated:
        assert (
            gated.violations[0].startswith("gate: w, 2 threads, ba, ops: 1.")
            and "× lower than pthread" in gated.violations[0]
        )


def test_gate_fails_when_a_lock_does():
    def crash(row):
        if row.lock == "ba":
            row.status, row.detail, row.metrics = "crashed", "died by SIGSEGV", {}

    gated = gate.check(campaign(steady(), change=crash), 0.97)
    assert gated.violations == ["gate: w, 2 threads, ba: crashed: died by SIGSEGV"]
    assert gated.status == gate.FAILED


def fails(locks: str, status: str, detail: str) -> Callable[[Row], None]:
    def change(row):
        if row.lock in locks.split():
            row.status, row.detail, row.metrics = status, detail, {}

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (fails("none pthread ba", "crashed", "died by SIGSEGV"), "crashed: died by SIGSEGV"),
        (fails("pthread ba", "no lock", "0 rwlock calls seen"), "no lock: 0 rwlock calls seen"),
        (fails("pthread", "hung", "still running"), "the baseline pthread: hung: still running"),
    ],
)
def test_gate_and_campaign_know_that_nothing_was_measured(change, why):
    found = campaign(steady(), change=change)
    gated = gate.check(found, 0.97)
    assert gated.status == gate.NOT_MEASURED and gated.violations == []
    assert gated.unmeasured == [f"gate: w, 2 threads, ba: not measured: {why}"]
    assert gated.lines()[-1] == (
        "gate: FAILED, --fail-below 0.97 has nothing to judge by "
        "(0 ratios shown to be above, 0 can't tell, 1 not measured)"
    )
    assert gate.nothing_measured(found) == f"w, 2 threads, ba: {why}"


def test_the_baseline_is_not_under_test_though_it_was_named():
    found = campaign(steady(0.8), locks=LOCKS, against="ba")
    assert gate.nothing_measured(found) is None
    assert {line.split(", ")[2] for line in gate.check(found, 0.5).lines()[:-1]} <= {"none", "pthread"}
    assert gate.check(found, 0.5).passed == 2


def test_one_lock_that_was_not_measured_closes_the_gate_and_is_no_empty_campaign():
    found = campaign(steady(), locks=[*LOCKS, "mcs"], change=fails("mcs", "no lock", "not taken"))
    assert gate.check(found, 0.5).violations == ["gate: w, 2 threads, mcs: no lock: not taken"]
    skipped = campaign(steady(), locks=[*LOCKS, "mcs"], change=fails("mcs", "skipped", "not there"))
    gated = gate.check(skipped, 0.5)
    assert gated.status == gate.NOT_MEASURED and gated.passed == 1
    assert gate.nothing_measured(skipped) is None


def heaps(lock, number, second_run):
    return (1000 if (number * 7 + len(lock) + second_run) % 3 else 1400) + number


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (lambda: campaign(steady(), rounds=3, repeats=3), "Use --repeats 7"),
        (lambda: campaign(steady(), rounds=3, repeats=7), "--budget was spent"),
        (lambda: campaign(steady(), repeats=20, budget_min=2.0), "spent after 8 of 20 rounds"),
        (lambda: campaign(steady(noise=0.3), until=0.05, budget_min=2.0), "Half the width takes four times the rounds"),
        (lambda: campaign(steady(), change=lambda row: row.numbers.update(steal_share=0.3)), "hypervisor"),
        (lambda: campaign(steady(), change=lambda row: setattr(row, "disturbed", 1)), "something else was running"),
        (lambda: campaign(steady(), change=lambda row: hang(row)), "w with ba did not end in time"),
        (lambda: campaign(drifting, metrics=[OPS, OPS | {"name": "more"}]), "differ by more than chance"),
        (lambda: campaign(steady(), change=lambda row: fail_second_run(row)), "no noise floor for w"),
        (lambda: campaign(lambda *_: {"ops": 1000.0, "wall_s": 0.05}), "last less than 0.1 s"),
        (lambda: campaign(lambda lock, number, second_run: 600 if number == 1 else 1000 + number), "caches were cold"),
        (lambda: campaign(lambda lock, number, second_run: 600 if number == 5 else 1000 + number), "Outliers: 3 runs"),
        (lambda: campaign(heaps, rounds=15), "two heaps"),
        (
            lambda: campaign(lambda *_: {"live": 50.0, "pairs": 1000.0, "kept": 0.05}, metrics=LIVE),
            "all threads were live for less than 20 %",
        ),
        (lambda: campaign(steady(noise=0.6)), "differ by more than 50 %"),
        (lambda: campaign(steady(), env={"cpu": {"usable": 1}, "perf_events": []}), "There is one CPU"),
    ],
)
def test_warnings_name_cause_and_cure(found, says):
    assert says in warned(found())


def drifting(lock, number, second_run):
    """The second run finds what the first one left behind."""
    return {"ops": 1000 + 50 * second_run + number, "more": 1000 + 70 * second_run + number}


def fail_second_run(row):
    if row.second_run:
        row.status, row.metrics = "failed", {}


def hang(row):
    if row.lock == "ba":
        row.status, row.metrics = "hung", {}


@pytest.mark.parametrize("seed", range(5))
def test_a_good_campaign_warns_of_nothing(seed):
    assert warned(campaign(steady(1.2, noise=0.02, seed=seed), until=0.1, budget_min=2.0)) == ""


TIME = {"name": "time", "role": "time", "unit": "s", "better": "lower", "source": "wall"}


@pytest.mark.parametrize(
    ("seconds", "more", "noticed"),
    [
        (lambda lock, dice: 5 + dice.uniform(0, 0.04), {}, True),
        (lambda lock, dice: 5 + (1.5 if dice.random() < 0.05 else dice.uniform(0, 0.04)), {}, True),  # some met load
        (lambda lock, dice: 5 * dice.lognormvariate(0, 0.03), {}, False),
        (lambda lock, dice: (4.5 if lock == "ba" else 5) + dice.uniform(0, 0.04), {}, False),
        (lambda lock, dice: 0.05 + dice.uniform(0, 0.004), {}, False),  # too short to say
        (lambda lock, dice: 5 + dice.uniform(0, 0.04), {"metrics": [OPS]}, False),  # it has a figure
        (lambda lock, dice: 5 + dice.uniform(0, 0.04), {"info": {"own": False}}, False),  # a recipe knows its program
    ],
)
def test_runs_of_equal_length_are_noticed(seconds, more, noticed):
    dice = random.Random(3)

    def value(lock, number, second_run):
        taken = seconds(lock, dice)
        return {"time": taken, "ops": 1000.0, "wall_s": taken}

    found = campaign(value, **{"metrics": [TIME], "info": {"own": True}, **more})
    assert ("of equal length" in warned(found)) == noticed
    last = verdict.verdict(found).sentence
    assert (last.startswith("Can't tell: every run takes 5 s") and last.endswith("give --metric.")) == noticed
    if noticed:
        assert "Runs of w are of equal length, 5 s, whatever the lock" in warned(found)
        assert "give --metric REGEX" in warned(found)
