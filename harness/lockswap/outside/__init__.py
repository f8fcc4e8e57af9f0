"""What is seen of a process that was started without lockswap: its waits, glibc's locks in its memory, its stacks."""
