// pthread: glibc's own reader-writer lock, as an underlying lock for combinators.
//
// Source: the system's pthread_rwlock_*, called through P::system().
// State: the fields that glibc uses in the pthread_rwlock_t that this object lies in: bytes 0..15,
//   24..31 and 48..51. The owner at 16 and the combinators' words lie in bytes that glibc only ever
//   zeroes at init; interpose checks that at start-up by a trial run.
// Fairness: glibc's: readers first unless the kind says otherwise; writers can starve.
// Destroy is safe as in glibc.
#pragma once

#include <cstddef>
#include <cstdint>

#include "locks/rw/claims.h"
#include "locks/rw/frame.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/system_rwlock.h"

namespace lockswap {

template <class P, class W>
class Pthread {
 public:
  static constexpr Claims kClaims{};

  static bool prepare() noexcept { return true; }

  // 0: it holds the lock. Otherwise go on with read_wait or not at all.
  std::uint32_t read_arrive() noexcept { return try_read_lock() ? 0 : 1; }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    int error;
    do {
      error = deadline == nullptr
                  ? system_rwlock.rdlock(lock())
                  : system_rwlock.clockrdlock(lock(), deadline->clock, &deadline->at);
    } while (error == EAGAIN);  // more readers than glibc can count: one will leave
    return error == 0;
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }
  bool try_read_lock() noexcept { return system_rwlock.tryrdlock(lock()) == 0; }
  void read_unlock() noexcept { system_rwlock.unlock(lock()); }

  void write_lock() noexcept { system_rwlock.wrlock(lock()); }
  // For the shape of ba.h. Readers overtake a writer that waits here, so there is nothing to call.
  template <class F>
  void write_lock(const F&) noexcept {
    write_lock();
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    return system_rwlock.clockwrlock(lock(), deadline->clock, &deadline->at) == 0;
  }
  bool try_write_lock() noexcept { return system_rwlock.trywrlock(lock()) == 0; }
  void write_unlock() noexcept {
    // glibc tells a writer's release from a reader's by this id; here another thread may release.
    frame().writer.store(P::tid(), relaxed);
    system_rwlock.unlock(lock());
  }

  // glibc names the writer as soon as its own lock is taken. But BRAVO's fast readers may still be
  // in then, and a release by one of them must not pass for the writer's.
  auto& owner() noexcept { return owner_; }

  // glibc's counters are its own affair; answer what keeps callers on the safe side.
  bool has_readers() const noexcept { return true; }
  bool has_writer() const noexcept { return false; }
  bool too_many_readers() const noexcept { return false; }

 private:
  pthread_rwlock_t* lock() noexcept { return reinterpret_cast<pthread_rwlock_t*>(this); }
  auto& frame() noexcept { return *reinterpret_cast<RwFrame<P, Pthread>*>(this); }

  std::byte glibc_[16];
  typename P::template atomic<std::uint32_t> owner_{};
};

}  // namespace lockswap
