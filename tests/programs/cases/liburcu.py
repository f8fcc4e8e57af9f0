"""liburcu's benchmark of rwlocks, built from Debian's source package by apps/fetch/liburcu.sh."""

import re

from suite.case import case
from suite.stage import Stage


@case("test_rwlock", acquisitions=1000, fetched="liburcu", quick=True, waits=("park", "yield"))
def test_rwlock(stage: Stage) -> None:
    """Readers that never rest beside a writer that needs its turn"""
    output = stage.swapped(stage.place.apps / "test_rwlock", "3", "1", "1", "-c", "10", "-e", "10", "-d", "1000")
    stage.need(re.search(r"nr_reads\s+[1-9]", output.stdout), "test_rwlock counted no reads")
