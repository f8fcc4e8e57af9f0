"""How a run may end, in the words of raw.csv."""

# OK is the only one whose numbers count.
OK = "ok"
CRASHED = "crashed"  # died by a signal
FAILED = "failed"  # the wrong exit status
HUNG = "hung"  # still running at the time limit
WRONG = "wrong result"  # ended well, but its own check of its result did not
NO_LOCK = "no lock"  # does not take the lock under test
SKIPPED = "skipped"  # not started, for the reason given
