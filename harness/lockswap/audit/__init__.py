"""`lockswap audit`: what a program does with its locks, and what matters before they are swapped."""
