"""liburcu's benchmark of rwlocks, built from Debian's source package by apps/fetch/liburcu.sh."""

import re

from suite.case import case
from suite.stage import Stage


@case("test_rwlock", acquisitions=1000, fetched="liburcu", quick=True, waits=("park", "yield"))
def test_rwlock(stage: Stage) -> None:
    """Readers that never rest beside a writer that needs its turn"""
    for seconds in ("1", "10", "100"):  # longer where it hardly gets a processor
        output = stage.swapped(
            stage.place.apps / "test_rwlock", "3", "1", seconds, "-c", "10", "-e", "10", "-d", "1000"
        )
        reads = re.search(r"nr_reads\s+(\d+)", output.stdout)
        stage.need(reads, "test_rwlock counted no reads")
        if int(reads[1]) >= 1000:
            return
    stage.need(False, f"test_rwlock made only {reads[1]} reads")
