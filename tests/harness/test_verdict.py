"""Which lock to take: campaigns whose truth is known, and what is said of them."""

import math
import re

import pytest

import synthetic
from lockswap.findings import evidence, loading
from lockswap.findings.effects import called, effect, effects
from lockswap.findings.evidence import Evidence
from lockswap.findings.measured import Campaign, Place
from lockswap.findings.measures import MetricInfo
from lockswap.findings.stats import SLOWER, Ratio
from lockswap.findings.verdict import KEEP, NOTHING, OPEN, TAKE, TRADE, verdict
from lockswap.records.folder import Folder

TOTAL = [synthetic.metric("ops", "total", "ops/s", "higher")]


def load(path, *workloads, **more) -> Campaign:
    return loading.load(Folder(synthetic.plain(path, *workloads, **more)))


def ops(**locks: float | list[float]) -> tuple:
    """A workload with one figure, under the baselines and these locks."""
    values = {"none": 1e6, "pthread": 1e6, **{lock.replace("_", "-"): value for lock, value in locks.items()}}
    return "work", TOTAL, {lock: {"ops": v if isinstance(v, list) else [v]} for lock, v in values.items()}


def rw(name: str = "work", **locks: tuple[float, float]) -> tuple:
    """Reads and writes with 1 and 2 threads, as multiples of glibc's."""
    values = {"none": (1, 1), "pthread": (1, 1), **locks}
    figures = {
        lock: {"reads": [1e6 * reads] * 2, "writes": [1e4 * writes] * 2} for lock, (reads, writes) in values.items()
    }
    return name, synthetic.READS_AND_WRITES, figures


def judged(*args, **more):
    campaign = load(*args, **more)
    found = verdict(campaign)
    assert [one.workload for one in found.workloads] == [workload.name for workload in campaign.workloads]
    return found.workloads[0]


def test_a_lock_that_wins_is_taken(tmp_path):
    campaign = load(tmp_path / "x", ops(ba=1.5e6, pf_t=0.8e6))
    found = verdict(campaign)
    (one,) = found.workloads
    assert (one.kind, one.lock, one.cautions) == (TAKE, "ba", [])
    assert one.sentence.startswith("Use ba: ops done a second 1.") and "× higher (interval 1." in one.sentence
    assert "No price was seen in ops, processor time and context switches" in one.sentence
    assert "how long single threads waited was not measured" in one.sentence
    assert found.sentence == one.sentence and one.gain.startswith("ops/s 1.") and one.price == ""


def test_reads_against_writes_is_a_trade(tmp_path):
    one = judged(tmp_path / "x", rw(ba=(2, 0.1)))
    assert (one.kind, one.lock) == (TRADE, "ba")
    assert one.sentence.startswith("Use ba if reads count more than writes: reads done a second ")
    assert "The price: writes done a second " in one.sentence and "× lower" in one.price
    assert "Otherwise keep glibc's." in one.sentence
    assert one.condition == "if reads count more than writes"


def test_a_lock_that_loses_nowhere_goes_before_a_trade(tmp_path):
    one = judged(tmp_path / "x", rw(ba=(3, 0.1), pf=(1.5, 1.0)))
    assert (one.kind, one.lock) == (TAKE, "pf")


def test_gains_with_many_threads_and_losses_with_one(tmp_path):
    figures = {"none": {"ops": [1e6] * 2}, "pthread": {"ops": [1e6] * 2}, "ba": {"ops": [0.7e6, 2e6]}}
    one = judged(tmp_path / "x", ("work", TOTAL, figures))
    assert one.kind == TRADE and one.sentence.startswith("Use ba if it runs with 2 threads: ops ")
    assert re.search(r"\. Else keep glibc's: with ba ops done a second 1\.\d+× lower .* with 1 thread\.", one.sentence)
    assert one.price == "" and re.fullmatch(r"ops/s 1\.\d+× lower with 1 thread", one.elsewhere)


def test_what_other_thread_counts_have_is_said(tmp_path):
    """A gain with four threads, a loss with two, nothing with one: of that, too, there is a word."""
    figures = {"none": {"ops": [1e6] * 3}, "pthread": {"ops": [1e6] * 3}, "ba": {"ops": [1e6, 5e5, 2e6]}}
    one = judged(tmp_path / "x", ("work", TOTAL, figures), noise=0.05)
    assert one.condition == "if it runs with 4 threads"
    assert one.elsewhere.endswith("× lower with 2 threads, can't tell with 1 thread")
    assert one.sentence.count("can't tell with 1 thread") == 1


def test_what_is_open_is_said_of_each_figure(tmp_path):
    """Which comparisons can't tell, not how many."""
    figures = {"none": {"ops": [1e6] * 2}, "pthread": {"ops": [1e6] * 2}, "ba": {"ops": [1e6, 2e6]}}
    one = judged(tmp_path / "x", ("work", TOTAL, figures), noise=0.05)
    assert one.kind == TAKE and "context switches; can't tell for ops with 1 thread;" in one.sentence
    priced = judged(tmp_path / "y", ("work", TOTAL, figures), noise=0.05, switches={"ba": 3})
    assert priced.price
    assert " Can't tell for ops with 1 thread." in priced.sentence


def test_a_factor_over_a_starved_baseline_says_so(tmp_path):
    one = judged(tmp_path / "x", rw(none=(1, 0.0001), pthread=(1, 0.0001), ba=(1, 1)))
    assert "; glibc's starves writers: 1." in one.sentence or "; glibc's starves writers: 0.9" in one.sentence
    assert one.gain.endswith(" (glibc's starves writers)")
    assert "starves" not in judged(tmp_path / "y", rw(ba=(1, 5))).sentence


def test_throughput_against_tails(tmp_path):
    metrics = [*TOTAL, synthetic.metric("p99", "time", "ns", "lower")]
    figures = {lock: {"ops": [1e6], "p99": [100]} for lock in ("none", "pthread")} | {
        "ba": {"ops": [2e6], "p99": [17e3]}
    }
    one = judged(tmp_path / "x", ("work", metrics, figures))
    assert one.kind == TAKE and "The price: p99 17" in one.sentence and "× longer" in one.price


def test_switches_and_processor_time_are_a_price(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1.5e6), switches={"ba": 3}, cpu={"ba": 2})
    assert one.kind == TAKE and "context switches 3" in one.price and "ops per CPU-s 1.3" in one.price
    assert "It wins by the clock and loses per CPU-second: it keeps more processors busy" in one.sentence
    # Fewer of them are no price, nor are a few more.
    for factor in (0.3, 1.1):
        assert "switches" not in judged(tmp_path / f"{factor}", ops(ba=1.5e6), switches={"ba": factor}).price


def test_a_gain_that_is_only_more_processors(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1.5e6), cpu={"ba": 1.5}, noise=0.005)
    assert "Per CPU-second there is no difference: it gains by using more of the processors" in one.sentence


def test_what_the_clock_does_not_show(tmp_path):
    one = judged(tmp_path / "x", ops(ba=0.7e6), cpu={"ba": 0.4})
    assert one.kind == KEEP and "Per CPU-second ba gains all the same (ops per CPU-s 1.7" in one.sentence
    assert "judge by that (--per-cpu)" in one.sentence
    one = judged(tmp_path / "y", ops(ba=0.7e6), cpu={"ba": 0.4}, per_cpu=True)
    assert one.kind == TAKE and "It loses by the clock and wins per CPU-second" in one.sentence


def test_losers_leave_glibcs(tmp_path):
    one = judged(tmp_path / "x", ops(ba=0.8e6, pf_t=0.5e6))
    assert (one.kind, one.lock) == (KEEP, None)
    assert one.sentence.startswith(
        "Keep glibc's: none of the 2 others gains. ba loses least, all figures together: ops done a second 1.2"
    )
    one = judged(tmp_path / "y", ops(ba=0.8e6), against="ba")
    assert one.kind == NOTHING  # no lock is left
    one = judged(tmp_path / "z", ops(ba=0.8e6, pf_t=0.5e6), against="ba")
    assert one.sentence.startswith("Keep ba: pf-t gains nothing, and loses: ops done a second 1.6")


def test_equals_leave_glibcs(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1e6), noise=0.003)
    assert one.kind == KEEP and one.sentence.startswith("Keep glibc's: no lock gains more than ")


def test_noise_is_not_a_verdict(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1.05e6, pf_t=0.97e6), noise=0.15)
    assert (one.kind, one.lock) == (OPEN, None)
    assert one.sentence.startswith("Can't tell: for every lock anything from 1.") and "× worse to 1." in one.sentence
    assert "the program differs from itself by up to " in one.sentence and "--until 5%" in one.sentence
    assert "ruled out" not in one.sentence
    one = judged(tmp_path / "y", ops(ba=1.02e6, pf_t=1.03e6), noise=0.02)
    assert one.kind == OPEN and "is ruled out: if so little is not worth it, keep glibc's." in one.sentence


def test_among_many_equals_none_is_taken(tmp_path):
    """Eighty comparisons of equals each time: one in twenty such campaigns may take a lock."""
    kinds = []
    for seed in range(20):
        locks = ["none", "pthread", *(f"lock-{n}" for n in range(10))]
        figures = {lock: {"reads": [1e6] * 4, "writes": [1e4] * 4} for lock in locks}
        work = ("work", synthetic.READS_AND_WRITES, figures)
        kinds.append(judged(tmp_path / str(seed), work, seed=seed, noise=0.05).kind)
    assert kinds.count(TAKE) + kinds.count(TRADE) + kinds.count(KEEP) <= 1


def chance(ratios: list[Ratio], rivals: int) -> bool:
    metric = MetricInfo("ops", "total", "ops/s", "higher")
    found = evidence.Evidence(None, "ba", rivals)
    found.places = [Place(metric, threads, ratio) for threads, ratio in enumerate(ratios, 1)]
    return found.is_chance([place for place in found.places if place.verdict == "faster"])


def test_one_weak_claim_among_many_is_chance():
    # Faster, but the interval begins within the noise.
    weak, equal = Ratio(7, 1.1, 1.01, 1.2, 1.06), Ratio(7, 1.0, 0.9, 1.1, 1.06)
    assert weak.verdict == "faster"
    assert chance([weak, equal, equal, equal], rivals=10)
    assert not chance([weak], rivals=1)  # one comparison, asked for in advance
    assert not chance([weak] * 4, rivals=10)  # four times the same by chance: hardly
    assert not chance([Ratio(7, 1.1, 1.07, 1.2, 1.06), equal, equal, equal], rivals=10)
    # Without a floor the same claims are worth less.
    unknown = Ratio(7, 1.1, 1.01, 1.2, None)
    assert chance([unknown, unknown, equal, equal], rivals=30)
    assert not chance([weak, weak, equal, equal], rivals=30)


def test_what_looks_better_by_chance_is_said_as_that(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence.Evidence, "is_chance", lambda self, claimed: bool(claimed))
    one = judged(tmp_path / "x", ops(ba=1.5e6, pf_t=1e6))
    assert one.kind == OPEN and one.lock is None
    assert one.sentence.startswith("Can't tell: ba looks better (ops done a second 1.")
    assert "of 2 comparisons" in one.sentence and "-l ba --until 5%" in one.sentence


def test_nothing_measured(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1e6), fails={"ba": ("crashed", "died by SIGSEGV")})
    assert one.kind == NOTHING
    assert one.sentence == (
        "Can't tell: no lock was measured (crashed: died by SIGSEGV); failures/ has what was printed."
    )
    one = judged(tmp_path / "y", ops(ba=1e6), fails={"ba": ("no lock", "0 rwlock calls seen")})
    assert one.kind == NOTHING and "'lockswap audit' shows what it takes" in one.sentence
    every = dict.fromkeys(("none", "pthread", "ba"), ("failed", "exit status 1"))
    found = verdict(load(tmp_path / "z", ops(ba=1e6), fails=every))
    assert found.sentence.startswith("Can't tell: nothing was measured: no run with pthread was good (failed: exit")
    found = verdict(load(tmp_path / "two", rw("a", ba=(2, 2)), rw("b", ba=(2, 2)), fails=every))
    assert found.sentence.startswith("Can't tell: nothing was measured. ")
    assert [one.kind for one in found.workloads] == [NOTHING, NOTHING]


def test_a_campaign_that_was_stopped_before_its_first_run(tmp_path):
    found = verdict(load(tmp_path / "x", ops(ba=1e6), rounds=0, finished=False))
    assert found.sentence == "Can't tell: nothing was measured."


def test_too_few_rounds(tmp_path):
    one = judged(tmp_path / "x", ops(ba=2e6), rounds=5)
    assert one.kind == OPEN
    assert one.sentence == "Can't tell: only 5 pairs of runs where 6 are needed (--repeats 7)."
    found = verdict(load(tmp_path / "two", rw("a", ba=(2, 2)), rw("b", ba=(2, 2)), rounds=5))
    assert found.sentence == one.sentence


def test_a_lock_whose_runs_fail_is_not_taken(tmp_path):
    campaign = load(tmp_path / "x", ops(ba=3e6, pf_t=1.5e6))
    assert verdict(campaign).workloads[0].lock == "ba"
    campaign = load(tmp_path / "y", ops(ba=3e6, pf_t=1.5e6), rounds=8)
    row = next(row for row in campaign.rows if row.lock == "ba")
    row.status, row.detail, row.metrics = "hung", "still running", {}
    (one,) = verdict(campaign).workloads
    assert one.lock == "pf-t" and "Not to be taken, as runs failed: ba (1 of 8 runs: hung)." in one.sentence


def test_the_baseline_that_starves_a_side(tmp_path):
    one = judged(tmp_path / "x", rw(none=(1, 0), pthread=(1, 0), ba=(0.5, 1)))
    assert one.kind == TRADE and one.condition == "if writes count more than reads"
    assert "writes done a second not 0 as with glibc's at every thread count" in one.sentence
    assert "inf" not in one.sentence and "∞" not in one.sentence


def test_equally_good_locks_are_named(tmp_path):
    one = judged(tmp_path / "x", ops(ba=1.5e6, pf_t=1.5e6, pf=1.2e6))
    other = {"ba": "pf-t", "pf-t": "ba"}[one.lock]
    assert f"Compared with {one.lock} itself, {other} is not shown to be worse." in one.sentence


def test_a_rival_that_is_worse_than_glibcs_somewhere_is_no_contradiction(tmp_path):
    metrics = [*TOTAL, synthetic.metric("p99", "time", "ns", "lower")]
    truth = {"none": (1e6, 100), "pthread": (1e6, 100), "ba": (2e6, 100), "pf-t": (2e6, 5e3)}
    work = "work", metrics, {lock: {"ops": [ops], "p99": [p99]} for lock, (ops, p99) in truth.items()}
    one = judged(tmp_path / "x", work)
    rival = {"ba": "pf-t", "pf-t": "ba"}[one.lock]
    worse = "p99 " if rival == "pf-t" else ""
    assert f"Compared with {one.lock} itself, {rival} is not shown to be worse" in one.sentence
    assert bool(worse) == ("; against glibc's, though, pf-t has p99 " in one.sentence)


def test_the_preload_may_eat_the_gain(tmp_path):
    one = judged(tmp_path / "x", ops(none=1.3e6, ba=1.3e6))
    assert one.kind == TAKE and len(one.cautions) == 1
    assert one.cautions[0].startswith("against the program without the library (none) the gain is not shown")
    assert one.sentence.endswith(f"What could overturn this: {one.cautions[0]}.")


def test_busy_rounds_that_made_the_verdict(tmp_path):
    campaign = load(tmp_path / "x", ops(ba=1.01e6), rounds=14, busy=7, noise=0.001)
    for row in campaign.rows:
        if row.lock == "ba" and row.disturbed:
            row.metrics["ops"] *= 1.5
    (one,) = verdict(campaign).workloads
    assert one.kind == TAKE and one.cautions[0].startswith("without the rounds in which other programs had the machine")
    assert "(no difference)" in one.cautions[0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"finished": False}, "--resume DIR"),
        ({"wait": "spin", "cpus": 1}, "--wait park"),
        ({"cpus": 1}, "with one CPU no two threads"),
        ({"cpus": 1}, "the gain is seen only with more threads than the 1 CPU here"),
        ({"wall_s": 0.05}, "runs last less than 0.1 s"),
    ],
)
def test_cautions(tmp_path, change, says):
    figures = {"none": {"ops": [1e6] * 2}, "pthread": {"ops": [1e6] * 2}, "ba": {"ops": [1e6, 2e6]}}
    plain = judged(tmp_path / "x", ("work", TOTAL, figures))
    assert plain.kind == TAKE and plain.cautions == [] and "overturn" not in plain.sentence
    campaign = load(tmp_path / "y", ("work", TOTAL, figures))
    campaign.about |= {key: value for key, value in change.items() if key in ("finished", "wait")}
    campaign.env["cpu"]["usable"] = change.get("cpus", 8)
    for row in campaign.rows:
        row.numbers["wall_s"] = change.get("wall_s", 2.0)
    (one,) = verdict(campaign).workloads
    assert any(says in caution for caution in one.cautions) and one.cautions[0] in one.sentence


def test_no_floor_is_a_caution(tmp_path):
    campaign = load(tmp_path / "x", ops(ba=2e6))
    campaign.workloads[0].second_runs = {}
    (one,) = verdict(campaign).workloads
    assert one.kind == TAKE and any("no noise floor" in caution for caution in one.cautions)


def test_one_lock_for_all(tmp_path):
    found = verdict(load(tmp_path / "x", rw("a", ba=(2, 2), pf=(3, 0.5)), rw("b", ba=(1.5, 1.5), pf=(0.5, 0.5))))
    assert found.sentence.startswith("Use ba: it is better in a (gain: reads/s ")
    assert "and worse in none of the 2 workloads." in found.sentence
    found = verdict(load(tmp_path / "y", rw("a", ba=(2, 2)), rw("b", ba=(1, 1)), noise=0.05))
    assert found.sentence.startswith("Use ba: it is better in a (") and "Elsewhere: can't tell for b." in found.sentence


def test_it_depends(tmp_path):
    found = verdict(load(tmp_path / "x", rw("a", ba=(2, 2), pf=(0.5, 1)), rw("b", ba=(0.5, 1), pf=(2, 2))))
    assert found.opening == (
        "No lock is best everywhere: keep glibc's unless your program is like one of these 2 workloads in which "
        "another lock gains."
    )
    assert found.sentence.startswith(found.opening)
    assert found.sentences[0].startswith("It depends on the program: ba for a (gain: reads/s ")
    assert "; pf for b (gain: reads/s " in found.sentence
    found = verdict(load(tmp_path / "y", rw("a", ba=(2, 2)), rw("b", ba=(0.5, 0.5))))
    assert found.opening.endswith("is like the one of 2 workloads in which another lock gains (none does in 1).")
    assert found.sentences[0].startswith("Use ba for a (gain: reads/s ")
    campaign = load(tmp_path / "z", rw("a", ba=(2, 2)), rw("b", ba=(0.5, 0.5)))
    campaign.env["cpu"]["usable"] = 1
    assert " lock gains (uncertain; none does in 1)." in verdict(campaign).opening


def test_a_lock_that_looks_worse_somewhere_is_not_worse_in_none(tmp_path, monkeypatch):
    """Even where chance may have done it: the table shows it as slower."""
    wins, looks = rw("a", ba=(2, 2)), rw("b", ba=(0.5, 1))
    campaign = load(tmp_path / "x", wins, looks)
    monkeypatch.setattr(Evidence, "is_chance", lambda one, places: bool(places) and one.workload.name == "b")
    found = verdict(campaign)
    assert [one.kind for one in found.workloads] == [TAKE, OPEN]
    assert found.sentences[0].startswith("Use ba for a (") and "worse in none" not in found.sentence


def test_a_price_that_chance_may_have_made_is_not_passed_over(tmp_path, monkeypatch):
    campaign = load(tmp_path / "x", rw("a", ba=(2, 0.5)))
    monkeypatch.setattr(Evidence, "is_chance", lambda _, places: any(place.verdict == SLOWER for place in places))
    (one,) = verdict(campaign).workloads
    assert one.kind == TAKE and "A price may be: writes done a second about 1.9" in one.sentence
    assert one.price == "" and one.no_price.startswith("perhaps writes/s ")


def test_a_gain_in_brief_says_where_if_it_is_not_everywhere(tmp_path):
    """Only with two threads."""
    values = {"none": [1e6, 1e6], "pthread": [1e6, 1e6], "ba": [1e6, 2e6]}
    one = judged(tmp_path / "x", ("work", TOTAL, {lock: {"ops": figures} for lock, figures in values.items()}))
    assert one.kind == TAKE and re.fullmatch(r"ops/s [12]\.\d+× higher with 2 threads", one.gain)
    one = judged(tmp_path / "y", rw(ba=(2, 2)))
    assert "thread" not in one.gain


def test_a_price_in_brief_says_where_if_the_same_figure_gains(tmp_path):
    """With one thread twice as good, with two half."""
    values = {"none": [1e6, 1e6], "pthread": [1e6, 1e6], "ba": [2e6, 5e5]}
    one = judged(tmp_path / "x", ("work", TOTAL, {lock: {"ops": figures} for lock, figures in values.items()}))
    assert (one.kind, one.condition) == (TRADE, "if it runs with 1 thread")
    assert re.fullmatch(r"ops/s [12]\.\d+× lower with 2 threads", one.elsewhere) and one.price == ""


def test_no_lock_for_any(tmp_path):
    found = verdict(load(tmp_path / "x", rw("a", ba=(0.5, 1)), rw("b", ba=(0.5, 0.5))))
    assert found.sentence == "Keep glibc's: no lock is shown to be better in any workload."
    found = verdict(load(tmp_path / "y", rw("a", ba=(1, 1)), rw("b", ba=(1, 1)), noise=0.1))
    assert found.sentence.startswith("Can't tell: in none of the 2 workloads is a lock shown to be better")


def test_rwlocks_and_mutexes_are_judged_apart(tmp_path):
    rwlocks, mutexes = rw("a", ba=(2, 2)), rw("b")
    mutexes[2]["mutex:pthread"] = mutexes[2].pop("pthread")
    mutexes[2]["mutex:mcs"] = {"reads": [5e5] * 2, "writes": [5e3] * 2}
    path = synthetic.plain(tmp_path / "x", rwlocks, mutexes)
    campaign = loading.load(Folder(path))
    first, second = campaign.workloads
    second.locks, second.against = ["none", "mutex:pthread", "mutex:mcs"], "mutex:pthread"
    assert first.locks == ["none", "pthread", "ba"]
    found = verdict(campaign)
    assert found.sentence.startswith("Reader-writer locks: use ba: reads ")
    assert " Mutexes: keep glibc's: mutex:mcs gains nothing" in found.sentence


def test_every_kind_of_row(tmp_path):
    found = verdict(loading.load(Folder(synthetic.write(tmp_path / "x"))))
    assert [one.kind for one in found.workloads] == [TAKE, TAKE, OPEN, NOTHING]
    assert [one.lock for one in found.workloads] == ["bravo-ba", "bravo-ba", None, None]
    assert "nothing was measured of hopeless" in found.sentence and "can't tell for broken" in found.sentence


RATE, TIME, PLAIN = (
    MetricInfo("reads", "reads", "reads/s", "higher"),
    MetricInfo("p99", "time", "ns", "lower"),
    MetricInfo("misses", "total", "", "lower"),
)


@pytest.mark.parametrize(
    ("metric", "ratio", "says"),
    [
        (TIME, 0.0057, "180× longer"),
        (TIME, 0.00588, "170× longer"),
        (TIME, 1.5, "1.50× shorter"),
        (TIME, 0.96, "1.04× longer"),
        (TIME, 0.0001, "10,000× longer"),
        (RATE, 2.44, "2.4× higher"),
        (RATE, 0.5, "2.0× lower"),
        (RATE, 1.04, "1.04× higher"),
        (RATE, 0.96, "1.04× lower"),
        (RATE, math.inf, "not 0 as with glibc's"),
        (RATE, 0.0, "0, which it is not with glibc's"),
        (TIME, 0.0, "not 0 as with glibc's"),
        (PLAIN, 0.25, "4.0× higher"),
        (PLAIN, 4, "4.0× lower"),
    ],
)
def test_effects_in_words(metric, ratio, says):
    assert effect(metric, ratio, "glibc's") == says


def test_effects_of_several():
    two = [Ratio(7, 2.4, 2.2, 2.6), Ratio(7, 31, 28, 33)]
    assert effects(RATE, two, "glibc's") == "2.4× and 31× higher (all intervals above 2.2×)"
    assert effects(RATE, two, "glibc's", brief=True) == "2.4× and 31× higher"
    assert effects(TIME, [Ratio(7, 0.5, 0.4, 0.8)], "glibc's") == "2.0× longer (interval 1.25× to 2.5×)"
    assert effects(RATE, [Ratio(7, 1.04, 1.02, 1.06)], "glibc's") == "1.04× higher (interval 1.02× to 1.06×)"
    # Many are given as a range, which does not look like an interval; equal ones as one.
    many = [Ratio(7, factor, 2.2, 40) for factor in (5, 3, 2.5, 31, 4)]
    assert effects(RATE, many, "glibc's", brief=True) == "between 2.5× and 31× higher"
    assert effects(RATE, [two[0]] * 3, "glibc's", brief=True) == "2.4× higher"
    assert effects(RATE, [two[0], Ratio(7, 2.5, 2.2, 3)], "glibc's", brief=True) == "about 2.4× higher"


def test_a_rate_is_called_a_rate():
    waits = MetricInfo("waits", "total", "waits/s", "higher")
    assert called(waits) == "waits done a second" and called(waits, brief=True) == "waits/s"
    assert called(TIME) == "p99" and called(waits.per_cpu_figure) == "waits per CPU-s"


def on_one_cpu(campaign: Campaign) -> Campaign:
    campaign.env["cpu"]["usable"] = 1
    return campaign


def test_the_first_sentence_has_price_and_doubt(tmp_path):
    """More threads than CPUs: said of the one that gains only there, and once for all."""
    found = verdict(on_one_cpu(load(tmp_path / "x", rw("a", ba=(2, 0.5)), rw("b", ba=(0.5, 0.5)))))
    (first,) = found.sentences
    assert re.search(r"gain: reads/s [^;]*; price: writes/s [^;]*× lower", first)
    assert re.search(r"; keep glibc's for b \(ba: reads/s .*× lower.*, writes/s .*× lower.*\)\.$", first)
    assert found.caution.startswith("All of this holds for 1 CPU") and found.sentence.endswith(found.caution)
    alone = verdict(on_one_cpu(load(tmp_path / "y", ops(ba=2e6))))
    assert alone.caution == ""  # there is one workload, and it has its own caution


def test_what_could_overturn_a_gain_stands_in_the_first_sentence(tmp_path):
    values = {"none": [1e6, 1e6], "pthread": [1e6, 1e6], "ba": [1e6, 2e6]}
    first = {lock: {"ops": each} for lock, each in values.items()}
    second = first | {"ba": {"ops": [5e5, 5e5]}}
    found = verdict(on_one_cpu(load(tmp_path / "x", ("a", TOTAL, first), ("b", TOTAL, second))))
    assert "uncertain: the gain is seen only with more threads than the 1 CPU here)" in found.sentences[0]
