// pthread: glibc's own reader-writer lock, as an underlying lock for combinators.
//
// Source: the system's pthread_rwlock_*, called through P::system().
// State: the fields that glibc uses in the pthread_rwlock_t that this object lies in: bytes 0..15,
//   24..31 and 48..51. The combinators' words lie in bytes that glibc only ever zeroes at init;
//   interpose checks that at start-up by a trial run.
// Fairness: glibc's: readers first unless the kind says otherwise; writers can starve.
// Destroy is safe as in glibc.
// Fork: as in glibc, except that a lock which was held for writing is initialised again, and then
//   taken again if that hold stays. Nobody else can have held it, so only waiting threads are
//   dropped. In other states glibc's counters don't show which readers wait.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/rw_layout.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/system_rwlock.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Pthread {
 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo{
      .summary = "glibc's own reader-writer lock",
      .source = "glibc nptl",
      .fairness = "readers first; writers can starve",
      .kinds = "honoured by the slow path",
      .writers_can_starve = true,
      .instructions = 75,
  };
  static constexpr bool kNamesWriter = true;
  static constexpr bool kIsSystems = true;

  static bool prepare() noexcept { return true; }

  // Leaves everything to read_wait: glibc's rdlock is one fetch-add, its tryrdlock a loop.
  std::uint32_t read_arrive() noexcept { return 1; }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    if (deadline == nullptr) return read(nullptr);
    if (deadline->patience == 0) return read(deadline);
    // A deadline that has passed long ago: glibc does the same fetch-add, and then reports the
    // time-out where it would sleep. So a reader that need not wait reads no clock.
    constexpr Deadline kAtOnce{CLOCK_MONOTONIC, {-1, 0}};
    if (read(&kAtOnce)) return true;
    const Deadline due = P::due(*deadline);
    for (;;) {
      const Deadline until = P::one_sleep(due);
      if (read(&until)) return true;
      if (P::passed(due)) return false;
    }
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }
  bool try_read_lock() noexcept { return system_rwlock.tryrdlock(lock()) == 0; }
  void read_unlock() noexcept { system_rwlock.unlock(lock()); }

  void write_lock() noexcept { system_rwlock.wrlock(lock()); }
  bool write_lock_until(const Deadline* deadline) noexcept {
    return system_rwlock.clockwrlock(lock(), deadline->clock, &deadline->at) == 0;
  }
  bool try_write_lock() noexcept { return system_rwlock.trywrlock(lock()) == 0; }
  void write_unlock() noexcept { system_rwlock.unlock(lock()); }

  // glibc's counters are private, so this answers what keeps callers on the safe side.
  bool has_readers() const noexcept { return true; }
  bool has_writer() const noexcept { return false; }
  bool seems_read() const noexcept { return P::system_is_read(lock()); }
  bool too_many_readers() const noexcept { return false; }

  // After a fork; see rw_contract.h. Waiters are visible only in a lock that is held for writing.
  bool needs_no_repair(bool) const noexcept { return !P::system_is_written(lock()); }
  void repair_after_fork(bool written) noexcept {
    if (P::system_is_written(lock())) P::system_renew(lock(), written);
  }

 private:
  bool read(const Deadline* deadline) noexcept {
    int error;
    do {
      error = deadline == nullptr
                  ? system_rwlock.rdlock(lock())
                  : system_rwlock.clockrdlock(lock(), deadline->clock, &deadline->at);
    } while (error == EAGAIN);  // more readers than glibc can count: one will leave
    return error == 0;
  }
  const pthread_rwlock_t* lock() const noexcept {
    return reinterpret_cast<const pthread_rwlock_t*>(this);
  }
  pthread_rwlock_t* lock() noexcept { return reinterpret_cast<pthread_rwlock_t*>(this); }

  std::byte glibc_[kCoreBytes];
};

}  // namespace lockswap
