"""The C++ library's locks in programs of ours, which check themselves. See shared_mutexes.cpp."""

from suite.case import WAITS, case
from suite.stage import Stage


@case("std-shared_mutex", acquisitions=50_000, quick=True, waits=WAITS)
def shared_mutex(stage: Stage) -> None:
    """std::shared_mutex, never initialised by a call: shared, exclusive, trials"""
    stage.same(stage.swapped(stage.place.build / "tests/programs/shared_mutexes", "plain").stdout)


@case("std-shared_timed_mutex", acquisitions=50_000, quick=True, waits=WAITS)
def shared_timed_mutex(stage: Stage) -> None:
    """std::shared_timed_mutex: the same and waits with deadlines on both clocks"""
    stage.same(stage.swapped(stage.place.build / "tests/programs/shared_mutexes", "timed").stdout)
