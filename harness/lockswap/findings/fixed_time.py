"""Whether a program runs for a fixed time: then the time that it takes says nothing of locks."""

from statistics import median

from lockswap.findings.measured import Workload

# So close together, as a share and at least in seconds, lie the runs of a program that looks at the clock.
CLOSE, CLOSE_S = 0.01, 0.01
# As many of them; the others met load. Shorter runs are that alike by chance, or by their start.
MOST, LONG_S = 0.9, 0.2
FEWEST = 6


def fixed_time(workload: Workload) -> float | None:
    """The seconds that each run takes whatever the lock; None if it has other figures, or its runs differ."""
    if not workload.info.get("own") or any(metric.source != "wall" for metric in workload.metrics):
        return None
    cells = [cell for cell in (*workload.cells.values(), *workload.second_runs.values()) if cell.good]
    times = [row.numbers["wall_s"] for cell in cells for row in cell.good if "wall_s" in row.numbers]
    if len({cell.lock for cell in cells}) < 2 or len(times) < FEWEST:
        return None
    middle = median(times)
    close = sum(abs(time - middle) <= max(CLOSE * middle, CLOSE_S) for time in times)
    return middle if middle >= LONG_S and close >= MOST * len(times) else None
