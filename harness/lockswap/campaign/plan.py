"""The plan of a campaign: everything that is chosen before the first run."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lockswap.campaign.job import Job
from lockswap.campaign.rounds import Key, Rounds
from lockswap.findings import loading
from lockswap.findings.precision import width
from lockswap.records.folder import Folder
from lockswap.records.row import Row
from lockswap.run.outcome import Outcome
from lockswap.run.setup import Setup


def runs_of(jobs: Iterable[Job], repeats: int) -> dict[Key, int]:
    """How many runs each workload and thread count takes; the program as it is runs twice a round."""
    return {(job.recipe.name, threads): repeats * (len(job.locks) + 1) for job in jobs for threads in job.threads}


@dataclass
class Plan:
    """What runs, how often and how; execution.py carries it out."""

    folder: Folder
    setup: Setup
    jobs: list[Job]
    repeats: int  # rounds; with `until`, the least number of them
    seed: int
    about: dict[str, Any]  # name, command line and the like, for campaign.toml
    until: float | None = None  # rounds go on until every interval is so narrow; see rounds.py
    budget_s: float | None = None  # of measuring, after which no round begins
    traces: tuple[str, ...] = ()  # kinds, see traces.py
    warmup: int = 0  # runs of each workload and thread count that are not recorded
    probe: Outcome | None = None  # of the run that saw what the user's command takes; see probe.py
    cwd: Path = field(default_factory=Path.cwd)

    @property
    def locks(self) -> list[str]:
        """Those of all jobs."""
        return list(dict.fromkeys(lock for job in self.jobs for lock in job.locks))

    def write_about(self, finished: bool, notes: list[str]) -> None:
        self.folder.write_campaign(self.described(finished, notes))

    def described(self, finished: bool, notes: list[str]) -> dict[str, Any]:
        """What campaign.toml has."""
        return {
            **self.about,
            "finished": finished,
            "locks": self.locks,
            "repeats": self.repeats,
            "seed": self.seed,
            **({"until": self.until} if self.until else {"planned_runs": sum(self.rounds().left().values())}),
            "notes": notes,
            "workload": [job.describe() for job in self.jobs],
        }

    def rounds(self, rows: Iterable[Row] = ()) -> Rounds:
        """What is to be run, after the rows that there are."""
        about = {**self.about, "locks": self.locks}
        described = {job.recipe.name: job.describe() for job in self.jobs}

        def widest(key: Key, rows: list[Row]) -> float:
            copies = [replace(row, metrics=dict(row.metrics)) for row in rows]
            return width(loading.workload_of(described[key[0]], about, copies), key[1])

        keys = {(job.recipe.name, threads): list(job.locks) for job in self.jobs for threads in job.threads}
        rounds = Rounds(keys, self.seed, self.repeats, self.until, widest)
        for row in rows:
            rounds.add(row)
        return rounds
