// Idea: the waiters are in the list of our own condition variable, over the mutex functions of the
//   next library in line. Each has its turn number in place of a priority, so a signal is for the
//   greatest; a broadcast wakes all, who then stand in the mutex's gate.
// Left to the next library: condition variables that processes share, as glibc's flag in the object
//   says. Those of programs linked before glibc 2.3.2 have no such flag, and do not come here.
#include "fuzz/conds.h"

#include <cerrno>
#include <cstddef>

#include "fuzz/disturb.h"
#include "fuzz/tables.h"
#include "platform/cancel.h"
#include "platform/clock.h"
#include "platform/native.h"
#include "platform/process.h"
#include "platform/thread.h"
#include "posix/condvar.h"
#include "wait/park.h"

namespace lockswap::fuzz {
namespace {

using Cond = Condvar<Native, Park<Native>>;
static_assert(sizeof(Cond) <= offsetof(pthread_cond_t, __data.__wrefs));

// glibc's flags, which its init sets and nothing of ours changes.
constexpr unsigned kShared = 1, kMonotonic = 2;
bool is_shared(const pthread_cond_t* c) noexcept { return (c->__data.__wrefs & kShared) != 0; }
bool is_monotonic(const pthread_cond_t* c) noexcept {
  return (c->__data.__wrefs & kMonotonic) != 0;
}
Cond& state(pthread_cond_t* c) noexcept { return *reinterpret_cast<Cond*>(c); }

// Neither 0, which is no priority, nor the list's word for one that nobody has asked for.
std::uint32_t my_priority() noexcept {
  return 1 + static_cast<std::uint32_t>(my_turn_number() >> 33);
}

int init(pthread_cond_t* c, const pthread_condattr_t* attributes) {
  return system_cond.init(c, attributes);  // zeroes, then sets the flags
}
int destroy(pthread_cond_t* c) {
  if (is_shared(c)) return system_cond.destroy(c);
  state(c).destroy();
  return 0;
}

// May unwind: a wait is a cancellation point.
int wait_until(pthread_cond_t* c, pthread_mutex_t* m, const Deadline* deadline) {
  const DeferredCancellation deferred;
  CancellableSleep sleep;
  const auto unlock = [m] { return disturbed_mutex.unlock(m); };
  const auto lock = [m] { return disturbed_mutex.lock(m); };
  const Cond::Outcome o =
      state(c).wait(Cond::kNoRelay, sleep, deadline, unlock, lock, my_priority());
  if (o.cancelled) sleep.go_on();
  return o.error;
}
int wait(pthread_cond_t* c, pthread_mutex_t* m) {
  return is_shared(c) ? system_cond.wait(c, m) : wait_until(c, m, nullptr);
}
int clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock, const timespec* at) {
  if (is_shared(c)) return system_cond.clockwait(c, m, clock, at);
  if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || !is_valid_time(*at)) return EINVAL;
  const Deadline deadline{clock, *at};
  return wait_until(c, m, &deadline);
}
int timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* at) {
  if (is_shared(c)) return system_cond.timedwait(c, m, at);
  return clockwait(c, m, is_monotonic(c) ? CLOCK_MONOTONIC : CLOCK_REALTIME, at);
}
int signal(pthread_cond_t* c) {
  if (is_shared(c)) return system_cond.signal(c);
  state(c).signal();
  return 0;
}
int broadcast(pthread_cond_t* c) {
  if (is_shared(c)) return system_cond.broadcast(c);
  state(c).broadcast();
  return 0;
}

void in_forked_child() noexcept {
  Process::forked();
  ThreadExit::forked();
}

}  // namespace

bool prepare_conds() noexcept {
  ThreadExit::prepare();
  return Cond::prepare() && pthread_atfork(nullptr, nullptr, in_forked_child) == 0;
}

constinit CondOps chosen_cond{init, destroy, wait, timedwait, clockwait, signal, broadcast};

}  // namespace lockswap::fuzz
