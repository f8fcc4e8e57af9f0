// What the programs of this folder share.
#ifndef HOSTILE_COMMON_H
#define HOSTILE_COMMON_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NEED(condition)                                                       \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                               \
    }                                                                         \
  } while (0)

static inline void sleep_ms(long ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000};
  while (nanosleep(&t, &t) != 0) {}
}

// Threads whose stacks exist before memory becomes short.
static inline pthread_t start_thread(void* (*body)(void*), void* argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 << 10);
  pthread_t thread;
  NEED(pthread_create(&thread, &attributes, body, argument) == 0);
  return thread;
}

#endif
