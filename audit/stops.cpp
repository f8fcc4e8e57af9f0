// What a program does to its threads that decides whether they can run: it stops them in signal
// handlers, or gives them real-time policies. Locks that are handed off to a certain thread, first
// come first served, take no notice of either.

#include <csignal>
#include <cstdint>
#include <pthread.h>
#include <sched.h>

#include "audit/entry.h"
#include "audit/report.h"
#include "audit/world.h"
#include "interpose/exports.h"
#include "interpose/real_symbols.h"
#include "platform/real_time.h"

namespace lockswap::audit {
namespace {

template <class F>
F real(const char* name) noexcept {
  return reinterpret_cast<F>(find_real_function(name, LOCKSWAP_OLDEST));
}

}  // namespace
}  // namespace lockswap::audit

using namespace lockswap::audit;

extern "C" {

// A cancellation point: nothing of ours may stand on the stack with work to do.
LOCKSWAP_EXPORTED int lockswap_sigsuspend(const sigset_t* mask) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  if (me().inside != 0 && !me().busy)
    note(Finding::stopped_in_lock_call, {.lock = nullptr, .site = site});
  static const auto wait = real<decltype(&sigsuspend)>("sigsuspend");
  return wait(mask);
}

// Threads that have such a policy when they lock for the first time are noted then. Before any
// thread has done that, there is nobody else to be noted.
LOCKSWAP_EXPORTED int lockswap_setschedparam(pthread_t thread, int policy, const sched_param* p) {
  const bool notes = has_begun() && !me().busy;
  if (notes) known_me();
  static const auto set = real<decltype(&pthread_setschedparam)>("pthread_setschedparam");
  const int error = set(thread, policy, p);
  if (notes && error == 0 && lockswap::is_real_time(static_cast<std::uint32_t>(policy)))
    note_real_time(thread);
  return error;
}

}  // extern "C"

LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_sigsuspend, sigsuspend)
LOCKSWAP_OLDEST_IS_DEFAULT(lockswap_setschedparam, pthread_setschedparam)
