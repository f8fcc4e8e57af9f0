"""`lockswap service`: swapped locks in a systemd unit, by a drop-in."""
