"""One run as a row of raw.csv. docs/results.md describes the columns."""

from dataclasses import dataclass, field

# How the detail of a run begins that was left out because others like it had failed.
GIVEN_UP = "not tried again"
# Above this share of stolen time, or below this share of CPUs, a run says more about the neighbours: it is disturbed.
STEAL_LIMIT = 0.10
AVAILABLE_LIMIT = 0.75
TEXT_COLUMNS = ("workload", "lock", "status", "detail")
COUNT_COLUMNS = ("run", "round", "twin", "threads", "disturbed")
NUMBER_COLUMNS = (
    "started_s",
    "wall_s",
    "cpu_s",
    "user_s",
    "sys_s",
    "max_rss_kb",
    "context_switches",
    "cpu_migrations",
    "page_faults",
    "cycles",
    "instructions",
    "load1",
    "steal_share",
    "cpus_available",
)
COLUMNS = ("run", "round", "workload", "lock", "twin", "threads", "status", "detail", "disturbed", *NUMBER_COLUMNS)
METRIC = "metric."
# The column that only campaigns of several machines have.
MACHINE = "machine"


@dataclass
class Row:
    """One run, as raw.csv has it. `second_run` (column `twin`) is 1 in the second run of a round without lockswap."""

    run: int
    round: int
    workload: str
    lock: str
    threads: int
    status: str
    detail: str = ""
    disturbed: int = 0
    second_run: int = 0
    machine: str = ""  # "": the campaign has one machine
    numbers: dict[str, float] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
