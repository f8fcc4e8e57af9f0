"""`lockswap advise`: profile a program, try other algorithms for its hot locks, and say what is worth keeping."""

import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from lockswap.advise.candidates import Candidate, Hot, candidates, held_locks, hot_locks
from lockswap.advise.holds import Held
from lockswap.advise.ran import Subject
from lockswap.advise.trial import Arm, Metric, Trial
from lockswap.base.errors import UserError
from lockswap.base.files import check_can_be_written
from lockswap.base.paths import Paths
from lockswap.base.registry import Registry
from lockswap.findings import stats
from lockswap.profile import recording, summary
from lockswap.run import extra_preload, sanitizer

# Rounds of the choice, and of the measurement after it, which has runs of its own: the best of several is better than
# it is, in the runs that chose it.
_MOST_ROUNDS = 12
_MOST_FINAL_ROUNDS = 10
# The part of the budget that the choice may take.
_CHOICE = 0.65
# A gain below this is not worth a policy.
_LEAST_GAIN = 1.02

Suggest = Callable[[Hot], list[Candidate]]


@dataclass
class Advice:
    policy: list[str]  # its lines; none: keep glibc's
    ratio: stats.Ratio | None
    text: str


def run(
    paths: Paths,
    subject: Subject,
    pattern: str | None,
    lower_is_better: bool,
    budget_s: float,
    out: Path,
    preload_first: Sequence[str] = (),
) -> int:
    """Writes the policy to `out`, if there is one. Prints the advice on stdout."""
    if out.exists():
        raise UserError(f"-o {out}: it exists already; name another file")
    check_can_be_written("-o", out)
    first = extra_preload.first(preload_first)
    for warning in sanitizer.warnings(subject.words):
        _say(f"warning: {warning}")
    trial = Trial(paths.library, subject, Metric.asked_for(pattern, lower_is_better), first)
    cpus = len(os.sched_getaffinity(0))
    end = time.monotonic() + budget_s

    plain = trial.run()
    _say(f"on glibc's locks a run takes {plain.wall_s:.2f} s")
    found = _profile(paths, trial)
    hot, held = (of(found, plain.wall_s, cpus) for of in (hot_locks, held_locks))
    suggest = partial(candidates, processors=cpus, left_out=Registry.load(paths).left_out)
    advice = _experiment(trial, hot, suggest, end) if hot else _nothing_hot(held)
    if advice.policy:
        out.write_text("".join(f"{line}\n" for line in advice.policy), encoding="utf-8")
    print(advice.text)
    for one in held:
        print(one)
    if advice.policy:
        print(keeping(paths.library, out, subject.words))
    return 0


def keeping(library: Path, policy: Path, command: Sequence[str]) -> str:
    """What a shell takes to run the program under the policy."""
    preload, rules = (shlex.quote(str(path)) for path in (library, policy))
    return f"LD_PRELOAD={preload} LOCKSWAP_POLICY={rules} {shlex.join(command)}"


def _profile(paths: Paths, trial: Trial) -> summary.Profile:
    with tempfile.TemporaryDirectory(prefix="lockswap-profile-") as folder:
        ran = trial.run(more={"LOCKSWAP_PROFILE": folder})
        files = sorted(Path(folder).glob(f"*{recording.SUFFIX}"))
        found = summary.summarise(recording.read(paths.profile_reader, files), None)
    _say(f"with the profile it took {ran.wall_s:.2f} s")
    return found


def _nothing_hot(held: list[Held]) -> Advice:
    but = ", long holds apart" if held else ""
    return Advice([], None, f"Keep glibc's locks: none costs the program's threads as much as 1 % of their time{but}.")


def _experiment(trial: Trial, hot: list[Hot], suggest: Suggest, end: float) -> Advice:
    for one in hot:
        cost = f"waits and its cache line cost up to {100 * one.share:.0f} %"
        _say(f"{one.lock.kind} {one.lock.name}: {one.evidence}; {cost}")
    found = [_best_for(trial, one, suggest, _share_of(end, len(hot) - n)) for n, one in enumerate(hot)]
    best = [candidate for candidate in found if candidate is not None]
    if not best:
        names = ", ".join(f"{one.lock.kind} {one.lock.name}" for one in hot)
        return Advice([], None, f"Keep glibc's locks: for {names} nothing that was tried is shown to be faster.")
    return _measured_again(trial, best, end)


def _share_of(end: float, left: int) -> float:
    """When the choice for the next of so many locks must be over."""
    now = time.monotonic()
    return now + (end - now) * _CHOICE / left


def _best_for(trial: Trial, hot: Hot, suggest: Suggest, end: float) -> Candidate | None:
    tried = suggest(hot)
    baseline = Arm("glibc's")
    arms = {Arm(one.title, [one.rule]).title: (one, Arm(one.title, [one.rule])) for one in tried}
    left = list(arms)
    for number in range(_MOST_ROUNDS):
        if time.monotonic() >= end and number >= stats.MIN_PAIRS:
            break
        trial.round([baseline, *(arms[title][1] for title in left)], number)
        if number + 1 < stats.MIN_PAIRS:
            continue
        ratios = {title: trial.ratio(arms[title][1], baseline) for title in left}
        left = [title for title in left if ratios[title].high >= _LEAST_GAIN]
        if not left or _is_clear([ratios[title] for title in left]):
            break
    for title, (one, arm) in arms.items():
        if arm.values:
            _say(f"{title} ({one.why}): {_shown(trial.ratio(arm, baseline))}")
    shown = [(trial.ratio(arms[title][1], baseline), title) for title in left]
    shown = [(ratio, title) for ratio, title in shown if ratio.low >= 1 + stats.LEAST]
    return arms[max(shown, key=lambda pair: pair[0].estimate)[1]][0] if shown else None


def _is_clear(ratios: list[stats.Ratio]) -> bool:
    """One is a gain, and all others that are left are below what it is."""
    best = max(ratios, key=lambda ratio: ratio.estimate)
    return best.low >= _LEAST_GAIN and all(one is best or one.high < best.estimate for one in ratios)


def _measured_again(trial: Trial, best: list[Candidate], end: float) -> Advice:
    rules = [one.rule for one in best]
    baseline, swapped = Arm("glibc's"), Arm("swapped", rules)
    for number in range(_MOST_FINAL_ROUNDS):
        if time.monotonic() >= end and number >= stats.MIN_PAIRS:
            break
        trial.round([baseline, swapped], number)
    ratio = trial.ratio(swapped, baseline)
    titles = " and ".join(one.title for one in best)
    if ratio.low < 1 + stats.LEAST:
        return Advice(
            [], ratio, f"Keep glibc's locks: {titles} seemed better, but the gain was not confirmed: {_shown(ratio)}."
        )
    lines = []
    for one in best:
        lines += [f"# {one.hot.lock.kind} {one.hot.lock.name}: {one.hot.evidence}.", f"# {one.why}.", one.rule]
    lines.insert(0, f"# {trial.metric.name}: {_shown(ratio)} compared with glibc's locks.")
    return Advice(lines, ratio, f"Swap: {titles}. Measured again, the gain in {trial.metric.name} is {_shown(ratio)}.")


def _shown(ratio: stats.Ratio) -> str:
    return f"{ratio.estimate:.2f}x (95 %: {ratio.low:.2f} to {ratio.high:.2f}, {ratio.n} rounds)"


def _say(line: str) -> None:
    print(f"lockswap advise: {line}", file=sys.stderr, flush=True)
