"""Runs of the program under one policy or another, by turns, and what they come to."""

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lockswap.advise.ran import Failed, Subject
from lockswap.base.errors import UserError
from lockswap.findings import stats
from lockswap.run import sanitizer
from lockswap.run.preload import STRICT, clean_environment, ld_preload

_SET_HERE = (
    *("LOCKSWAP_POLICY", "LOCKSWAP_STATS", "LOCKSWAP_RWLOCK", "LOCKSWAP_MUTEX", "LOCKSWAP_PROFILE"),
    *("LOCKSWAP_DELAY", "LOCKSWAP_VERBOSE"),
)
_PLAIN = "glibc's locks"
# What the library says on stderr, which is no part of the program's output.
_SAID = re.compile(r"^lockswap\b.*\n?", re.MULTILINE)


@dataclass(frozen=True)
class Metric:
    """What a run is judged by: a number that the program prints, or the time that it takes."""

    pattern: re.Pattern | None = None
    lower_is_better: bool = False

    @classmethod
    def asked_for(cls, pattern: str | None, lower_is_better: bool) -> "Metric":
        if pattern is None:
            if lower_is_better:
                raise UserError(
                    "--better lower says how to read --metric, which is missing; a lower time of a run is always better"
                )
            return cls()
        try:
            compiled = re.compile(pattern, re.MULTILINE)
        except re.error as error:
            raise UserError(f"--metric '{pattern}' is not a valid regex: {error}") from error
        if compiled.groups != 1:
            raise UserError(f"--metric '{pattern}': put one pair of parentheses around the number")
        return cls(compiled, lower_is_better)

    @property
    def higher_is_better(self) -> bool:
        return self.pattern is not None and not self.lower_is_better

    @property
    def name(self) -> str:
        return f"what '{self.pattern.pattern}' finds" if self.pattern else "the time of a run"

    def of(self, text: str, seconds: float) -> float:
        if self.pattern is None:
            return seconds
        found = self.pattern.findall(text)
        if not found:
            raise UserError(f"--metric: nothing in the program's output matches '{self.pattern.pattern}'")
        try:
            return float(found[-1])
        except (TypeError, ValueError) as error:
            raise UserError(f"--metric: '{found[-1]}' is not a number; put the group around the number") from error


@dataclass
class Arm:
    """The program under some rules; without any, on glibc's own locks and without the library."""

    title: str
    rules: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Timed:
    value: float
    wall_s: float
    cpu_s: float
    said: tuple[str, ...] = ()  # lines of the library's


@dataclass(frozen=True)
class Trial:
    library: Path
    subject: Subject
    metric: Metric
    preload_first: Sequence[str] = ()  # files

    def run(self, rules: Sequence[str] = (), more: dict[str, str] | None = None) -> Timed:
        env = {key: value for key, value in clean_environment(os.environ).items() if key not in _SET_HERE}
        swap: dict[str, str] = dict(more or {})
        with tempfile.TemporaryDirectory(prefix="lockswap-advise-") as folder:
            if rules or more:
                first = [*sanitizer.runtimes(self.subject.words), *self.preload_first]
                swap["LD_PRELOAD"] = ld_preload(self.library, env.get("LD_PRELOAD", ""), before=first)
                swap |= sanitizer.variables(env, self.subject.words)
                swap[STRICT] = "1"
            if rules:
                policy = Path(folder, "policy")
                policy.write_text("".join(f"{rule}\n" for rule in rules), encoding="utf-8")
                swap["LOCKSWAP_POLICY"] = str(policy)
            try:
                ran = self.subject.run(env, swap)
            except Failed as failed:
                raise UserError(f"with {_what(rules, more or {})} {failed}") from failed
        value = self.metric.of(_SAID.sub("", ran.text), ran.wall_s)
        return Timed(value, ran.wall_s, ran.cpu_s, tuple(_SAID.findall(ran.text) + _SAID.findall(ran.server_text)))

    def round(self, arms: Sequence[Arm], number: int) -> None:
        """Each once, and another one first each time, so that what drifts falls on all."""
        first = number % len(arms)
        for arm in [*arms[first:], *arms[:first]]:
            arm.values.append(self.run(arm.rules).value)

    def ratio(self, arm: Arm, baseline: Arm) -> stats.Ratio:
        """Above 1 is better than the baseline. Only rounds that both have are compared."""
        n = min(len(arm.values), len(baseline.values))
        ratio = stats.paired_ratio(arm.values[:n], baseline.values[:n], self.metric.higher_is_better)
        assert ratio is not None
        return ratio


def _what(rules: Sequence[str], more: Mapping[str, str]) -> str:
    """What a run was under, in words."""
    if rules:
        return " and ".join(rules)
    if "LOCKSWAP_PROFILE" in more:
        return "the profile"
    if delay := more.get("LOCKSWAP_DELAY"):
        return f"LOCKSWAP_DELAY='{delay}'"
    return _PLAIN
