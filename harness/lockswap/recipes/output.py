"""What a run leaves to be judged: the program's output, and the counts of the library."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str
    server: str = ""  # both streams of a server; the other two are its load's

    def of(self, stream: str) -> str:
        if stream == "server":
            return self.server
        if stream == "both":
            return self.stdout + "\n" + self.stderr
        return self.stdout if stream == "stdout" else self.stderr

    def last_line(self) -> str:
        """The line that most likely says what went wrong."""
        for text in (self.stderr, self.stdout):
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            if lines:
                return lines[-1][:200]
        return ""


@dataclass
class Counts:
    """What LOCKSWAP_STATS counted, over all processes of one run."""

    processes: int = 0
    calls: int = 0
    locks: int = 0
    totals: dict[str, int] = field(default_factory=dict)
    # The same of mutexes; none where no mutex was chosen.
    mutex_calls: int = 0
    mutexes: int = 0
    mutex_totals: dict[str, int] = field(default_factory=dict)
    caught: int = 0  # objects that rules of a policy caught

    @property
    def reads(self) -> int:
        return self.totals.get("reads", 0)

    @property
    def writes(self) -> int:
        return self.totals.get("writes", 0)

    @property
    def fast_read_share(self) -> float | None:
        """Share of reads that BRAVO admitted without touching the lock; None without any."""
        bravo = ("fast_reads", "slow_reads_bias_off", "slow_reads_collision")
        if not self.reads or not any(self.totals.get(key, 0) for key in bravo):
            return None
        return self.totals.get("fast_reads", 0) / self.reads
