"""What a run used: the account of build/bin/lockswap-meter, and over it what perf counted."""

from pathlib import Path

from lockswap.run import perf


def meter(path: Path) -> dict[str, float]:
    """Its "key value" lines; `pid` at once, all others when the program has ended: `exit` or `signal` among them."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    # Read while it is written, a line may be half there.
    return {key: float(value) for key, _, value in (line.partition(" ") for line in lines) if value}


def of(account: Path, counted: Path | None = None) -> dict[str, float]:
    """The columns of raw.csv, and `exit` or `signal`."""
    usage = meter(account)
    if "wall_ns" in usage:
        usage["wall_s"] = usage.pop("wall_ns") / 1e9
        usage["cpu_s"] = usage["user_s"] + usage["sys_s"]
        usage["context_switches"] = usage["switches_voluntary"] + usage["switches_involuntary"]
        usage["page_faults"] = usage["faults_minor"] + usage["faults_major"]
    if counted and counted.exists():
        events = perf.parse(counted.read_text())
        for event, key in (
            ("context-switches", "context_switches"),
            ("cpu-migrations", "cpu_migrations"),
            ("page-faults", "page_faults"),
            ("cycles", "cycles"),
            ("instructions", "instructions"),
        ):
            if event in events:
                usage[key] = events[event]
        if "task-clock" in events:
            usage["cpu_s"] = events["task-clock"] / 1e3
    return usage
