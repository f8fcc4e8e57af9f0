"""`lockswap metrics`: what processes under LOCKSWAP_METRICS count, for monitoring."""
