// What the planted programs have in common. Each is a function of its own file, and planted.c runs
// the one that is named.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

// The program is to run without its fault.
extern bool is_right;

// Computes for about so many microseconds, so that threads don't meet as a rule.
void work(int us);
// Runs `body` in `n` threads at once, whose arguments are their numbers from 0.
void run(int n, void* (*body)(void*));

#ifdef __cplusplus
}
#endif

static inline int number_of(void* argument) { return (int)(size_t)argument; }

static inline void expect(bool what) {
  if (!what) abort();
}
// The call returned no error.
static inline void must(int error) { expect(error == 0); }
