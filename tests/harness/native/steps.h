// Steps of arithmetic, each of which waits for the one before: so many take the same time wherever
// they are compiled in.
#pragma once

enum { STEPS = 4000 };

static inline void take_steps(long steps) {
  unsigned long x = 1;
  for (long i = 0; i < steps; ++i) {
    x = x * 6364136223846793005UL + 1442695040888963407UL;
    __asm__ volatile("" : "+r"(x));
  }
}
