"""`lockswap doctor`: what a machine, a program and a process allow; and `lockswap off`."""
