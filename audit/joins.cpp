// Waits for other threads except at condition variables: for the end of a thread, and at a barrier.
// They matter only to a thread that holds locks. For others each is a jump to glibc.

#include <cstdint>
#include <pthread.h>

#include "audit/entry.h"
#include "audit/mutex_holds.h"
#include "audit/waits.h"
#include "interpose/exports.h"
#include "interpose/real_symbols.h"

namespace lockswap::audit {
namespace {

bool holds_any_lock() noexcept {
  const Me& m = me();
  return !m.busy && holds_any(m) && m.process == world().number;
}

template <class F>
F real(const char* name, const char* version) noexcept {
  return reinterpret_cast<F>(find_real_function(name, version));
}

}  // namespace
}  // namespace lockswap::audit

using namespace lockswap::audit;

extern "C" {

LOCKSWAP_EXPORTED int lockswap_join(pthread_t thread, void** result) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  static const auto join = real<decltype(&pthread_join)>("pthread_join", LOCKSWAP_OLDEST);
  if (!holds_any_lock()) [[likely]]
    return join(thread, result);
  Joins::Join* const mine = world().joins.begin(me(), thread, site);
  const int error = holds_locks() ? while_waiting(site, [=] { return join(thread, result); })
                                  : join(thread, result);
  world().joins.end(mine);
  return error;
}

LOCKSWAP_EXPORTED int lockswap_timedjoin(pthread_t thread, void** result, const timespec* at) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  static const auto join =
      real<decltype(&pthread_timedjoin_np)>("pthread_timedjoin_np", LOCKSWAP_SINCE_2_3_3);
  if (holds_locks()) [[unlikely]]
    return while_waiting(site, [=] { return join(thread, result, at); });
  return join(thread, result, at);
}

LOCKSWAP_EXPORTED int lockswap_clockjoin(pthread_t thread, void** result, clockid_t clock,
                                         const timespec* at) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  static const auto join =
      real<decltype(&pthread_clockjoin_np)>("pthread_clockjoin_np", "GLIBC_2.31");
  if (holds_locks()) [[unlikely]]
    return while_waiting(site, [=] { return join(thread, result, clock, at); });
  return join(thread, result, clock, at);
}

LOCKSWAP_EXPORTED int lockswap_barrier_wait(pthread_barrier_t* barrier) {
  const std::uint64_t site = LOCKSWAP_AUDIT_SITE;
  static const auto wait =
      real<decltype(&pthread_barrier_wait)>("pthread_barrier_wait", LOCKSWAP_OLDEST);
  if (holds_locks()) [[unlikely]]
    return while_waiting(site, [=] { return wait(barrier); });
  return wait(barrier);
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_join)
LOCKSWAP_SYMBOLS(lockswap_barrier_wait)
LOCKSWAP_SYMBOLS(lockswap_timedjoin)
LOCKSWAP_SYMBOLS(lockswap_clockjoin)
