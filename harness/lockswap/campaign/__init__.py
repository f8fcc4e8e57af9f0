"""`lockswap compare`: from the command line to a plan, the loop that carries the plan out, and its report."""
