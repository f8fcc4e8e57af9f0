// Threads with names, for programs that a test looks at from outside.
#pragma once

#include <pthread.h>
#include <stdlib.h>

struct named_thread {
  const char* name;
  void* (*function)(void*);
};
static void* run_named(void* started) {
  const struct named_thread thread = *(struct named_thread*)started;
  free(started);
  pthread_setname_np(pthread_self(), thread.name);
  return thread.function(NULL);
}

// The thread sets its own name before it does anything else, so one that waits always has it.
static void start_named(pthread_t* thread, const char* name, void* (*function)(void*)) {
  struct named_thread* const its = (struct named_thread*)malloc(sizeof *its);
  *its = (struct named_thread){name, function};
  pthread_create(thread, NULL, run_named, its);
}
