"""What is judged: a workload's figures by the clock, and the same figures per CPU second."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# A figure that is shown, but of which no lock is the better.
INFO = "info"
RATES = ("reads", "writes", "total")


@dataclass(frozen=True)
class MetricInfo:
    name: str
    role: str
    unit: str
    better: str
    kept: str | None = None  # the figure that says which share of the time counted for this one
    instead: str | None = None  # the figure over all the time, used where too little counted
    source: str | None = None
    per_cpu_of: str | None = None  # set in a figure per CPU second: the figure by the clock to which it belongs

    @classmethod
    def read(cls, info: Mapping[str, Any]) -> "MetricInfo":
        return cls(**{key: info[key] for key in cls.__dataclass_fields__ if key in info and key != "per_cpu_of"})

    @property
    def higher_is_better(self) -> bool:
        return self.better == "higher"

    def given(self, figures: Mapping[str, float]) -> bool:
        """Whether a run's figures have this one. One of live stretches stands for nothing if there were none."""
        return self.name in figures and (self.kept is None or figures.get(self.kept, 0) > 0)

    @property
    def per_cpu_figure(self) -> "MetricInfo | None":
        """The same per CPU second: of rates, operations per CPU second; of times, CPU seconds. Others have none."""
        if self.per_cpu_of or self.kept or self.source == "cpu":
            return None
        if self.role == "time" and self.unit == "s" and not self.higher_is_better:
            return replace(self, name=f"CPU {self.name}", per_cpu_of=self.name)
        if self.role in RATES and self.higher_is_better and (not self.unit or self.unit.endswith("/s")):
            return replace(
                self, name=f"{self.name} per CPU-s", unit=f"{self.unit.removesuffix('/s')}/CPU-s", per_cpu_of=self.name
            )
        return None


def split(metrics: list[MetricInfo]) -> tuple[list[MetricInfo], list[MetricInfo]]:
    """The figures that a report begins with, and those that it shows below: of many, what was done comes first."""
    if len(metrics) <= 3:
        return metrics, []
    first = [metric for metric in metrics if metric.role in ("reads", "writes")] or metrics[:1]
    return first, [metric for metric in metrics if metric not in first]
