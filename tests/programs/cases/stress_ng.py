"""stress-ng makes and ends threads as fast as it can."""

from suite.case import case
from suite.stage import Stage


@case("stress-ng", packages=["stress-ng"], acquisitions=0)
def pthread(stage: Stage) -> None:
    """Threads by the thousand, mutexes with priorities, verified"""
    common = ["--temp-path", stage.tmp, "--verify"]
    stage.swapped(
        "stress-ng", *common, "--pthread", "2", "--pthread-max", "64", "--pthread-ops", "4000", "--timeout", "60"
    )
    # By time: where its threads have done all of --mutex-ops before it looks, stress-ng says "no resource".
    stage.swapped("stress-ng", *common, "--mutex", "2", "--timeout", "2")
