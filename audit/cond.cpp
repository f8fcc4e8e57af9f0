// Two functions of condition variables, counted: they show which clocks and attributes a program
// uses. The others are left to glibc.

#include <cerrno>

#include "audit/report.h"
#include "audit/start.h"
#include "audit/world.h"
#include "interpose/exports.h"
#include "platform/system_mutex.h"

namespace lockswap::audit {
namespace {

void count_attributes(const pthread_condattr_t* attributes) {
  clockid_t clock = CLOCK_REALTIME;
  int shared = PTHREAD_PROCESS_PRIVATE;
  if (attributes == nullptr || pthread_condattr_getclock(attributes, &clock) != 0 ||
      pthread_condattr_getpshared(attributes, &shared) != 0) {
    return;
  }
  if (clock == CLOCK_MONOTONIC) count(Count::cond_monotonic);
  if (shared == PTHREAD_PROCESS_SHARED) count(Count::cond_process_shared);
}

}  // namespace
}  // namespace lockswap::audit

using namespace lockswap::audit;
using lockswap::system_cond;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_cond_init(pthread_cond_t* c, const pthread_condattr_t* a) {
  if (!ensure_started()) return EAGAIN;
  count(Count::cond_init);
  count_attributes(a);
  return system_cond.init(c, a);
}
// A cancellation point: nothing of ours may stand on the stack with work to do.
LOCKSWAP_EXPORTED int lockswap_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m,
                                              clockid_t clock, const timespec* at) {
  if (!ensure_started()) return EAGAIN;
  if (clock == CLOCK_REALTIME) count(Count::cond_clockwait_realtime);
  if (clock == CLOCK_MONOTONIC) count(Count::cond_clockwait_monotonic);
  return system_cond.clockwait(c, m, clock, at);
}

}  // extern "C"

LOCKSWAP_COND(lockswap_cond_init, pthread_cond_init)
LOCKSWAP_VERSIONED_SINCE_2_30(lockswap_cond_clockwait, pthread_cond_clockwait)
