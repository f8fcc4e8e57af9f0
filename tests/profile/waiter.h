// A holder that waits until another thread sleeps in its wait, so that each hold keeps that thread
// waiting on any machine, however busy. For one thread that waits; C and C++.
#ifndef LOCKSWAP_TESTS_PROFILE_WAITER_H
#define LOCKSWAP_TESTS_PROFILE_WAITER_H

#include <time.h>
#include <unistd.h>

#include "../asleep.h"

// The thread that waits or is about to, 0 if there is none. Meanwhile it sleeps nowhere else.
static int waiters_tid;

static inline void about_to_wait(void) {
  // NOLINTNEXTLINE(bugprone-signal-handler): only a system call
  __atomic_store_n(&waiters_tid, gettid(), __ATOMIC_SEQ_CST);
}
// For a thread that is going to sleep elsewhere. If it waited for a lock it still has it, so that
// the next holder doesn't see it asleep there.
static inline void has_waited(void) { __atomic_store_n(&waiters_tid, 0, __ATOMIC_SEQ_CST); }
static inline void await_waiter(void) {
  const struct timespec moment = {0, 100000};
  for (int tid = 0; tid == 0 || !is_asleep(tid);
       tid = __atomic_load_n(&waiters_tid, __ATOMIC_SEQ_CST)) {
    nanosleep(&moment, 0);
  }
}

#endif
