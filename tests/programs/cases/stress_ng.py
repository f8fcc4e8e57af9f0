"""stress-ng makes and ends threads as fast as it can."""

from suite.case import case
from suite.stage import Stage


@case("stress-ng", packages=["stress-ng"], acquisitions=0)
def pthread(stage: Stage) -> None:
    """Threads by the thousand, mutexes with priorities, verified"""
    stage.swapped(
        "stress-ng", "--temp-path", stage.tmp, "--pthread", "2", "--pthread-max", "64", "--pthread-ops", "4000",
        "--mutex", "2", "--mutex-ops", "20000", "--verify", "--timeout", "60",
    )  # fmt: skip
