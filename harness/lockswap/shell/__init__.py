"""What a shell completes, and the scripts that ask for it."""

VARIABLE = "_LOCKSWAP_COMPLETE"  # set by a shell that asks
