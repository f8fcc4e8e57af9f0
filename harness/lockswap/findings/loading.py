"""From the rows of a campaign's folder to its workloads and their cells."""

from collections.abc import Iterable
from typing import Any

from lockswap.base.errors import UserError
from lockswap.findings.measured import Campaign, Cell, Workload, against
from lockswap.findings.measures import INFO, MetricInfo
from lockswap.records.folder import Folder
from lockswap.records.row import Row


def load(folder: Folder) -> Campaign:
    """Raises UserError if a file cannot be read, or has not what the harness writes there."""
    try:
        return _load(folder)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder.path} is damaged: {type(error).__name__}: {error}") from error


def _load(folder: Folder) -> Campaign:
    about = folder.campaign()
    rows = folder.rows()
    checks = folder.checks()
    workloads = [workload_of(info, about, rows, checks) for info in about["workload"]]
    for workload in workloads:
        workload.traces = folder.traces(workload.name)
    return Campaign(about, folder.env(), rows, workloads)


def workload_of(info: dict, about: dict[str, Any], rows: Iterable[Row], checks: Iterable[dict] = ()) -> Workload:
    """One workload's figures; adds the values per CPU second to its rows."""
    metrics = [MetricInfo.read(metric) for metric in info["metric"]]
    judged = [metric for metric in metrics if metric.role != INFO]
    mine = [row for row in rows if row.workload == info["name"]]
    add_per_cpu_values(mine, judged, None if info.get("fixed_work", True) else info["seconds"])
    grouped: dict[tuple[int, str, int], list[Row]] = {}
    for row in mine:
        grouped.setdefault((row.threads, row.lock, row.second_run), []).append(row)
    cells = {key: Cell(info["name"], *key[:2], tuple(found)) for key, found in grouped.items()}
    return Workload(
        info=info,
        metrics=judged,
        threads=info["threads"],
        locks=info.get("locks", about["locks"]),
        cells={(threads, lock): cell for (threads, lock, second_run), cell in cells.items() if not second_run},
        second_runs={threads: cell for (threads, _, second_run), cell in cells.items() if second_run},
        # After a resumed campaign there may be several: the last one counts.
        checks={check["lock"]: check for check in checks if check["workload"] == info["name"]},
        against=info.get("against", against(about)),
        per_cpu=about.get("per_cpu", False),
        shown=[metric for metric in metrics if metric.role == INFO],
    )


def add_per_cpu_values(rows: Iterable[Row], metrics: Iterable[MetricInfo], seconds: float | None) -> None:
    """Put the values per CPU second into the rows: from the figure, and from how much of a CPU the run used.

    `seconds` is how long the program was asked to run, None if it does a fixed amount of work. It is better than the
    run's own length, which includes the start of the program under load.
    """
    figures = [figure for metric in metrics if (figure := metric.per_cpu_figure)]
    for row in rows:
        wall, cpu = row.numbers.get("wall_s", 0), row.numbers.get("cpu_s", 0)
        if not wall or not cpu:
            continue
        for figure in figures:
            value = row.metrics.get(figure.per_cpu_of)
            if value is not None:
                row.metrics[figure.name] = value * ((seconds or wall) / cpu if figure.higher_is_better else cpu / wall)
