"""`lockswap fuzz`: the same program under seeded delays around its locks, until it fails."""
