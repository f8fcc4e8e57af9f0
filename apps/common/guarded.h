// A reader-writer lock and data that it protects, on one cache line: what a benchmark takes, and
// the proof that taking it kept others out.
#pragma once

#include <atomic>
#include <cstdint>
#include <pthread.h>
#include <string>

#include "common/report.h"

namespace bench {

// A lock call that fails is a wrong result: nothing here gives a lock a reason to fail.
[[noreturn, gnu::cold, gnu::noinline]] inline void call_failed(const char* call, int error) {
  wrong_result(std::string(call) + " returned " + std::to_string(error));
}
inline void must(int error, const char* call) {
  if (error != 0) [[unlikely]]
    call_failed(call, error);
}
inline void lock_read(pthread_rwlock_t& l) {
  must(pthread_rwlock_rdlock(&l), "pthread_rwlock_rdlock");
}
inline void lock_write(pthread_rwlock_t& l) {
  must(pthread_rwlock_wrlock(&l), "pthread_rwlock_wrlock");
}
inline void unlock(pthread_rwlock_t& l) {
  must(pthread_rwlock_unlock(&l), "pthread_rwlock_unlock");
}

// The line is 64 bytes; 128 keep the neighbour, which processors fetch along, free of others.
struct alignas(128) Guarded {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

  // Under the write lock: between the two a reader that is let in sees that something is wrong.
  void begin_write() noexcept { bump(begun_); }
  void end_write() noexcept { bump(ended_); }
  // Under the read lock, at its begin and its end. Loads of a line that the lock needs anyway.
  void check() const {
    if (load(begun_) != load(ended_)) [[unlikely]]
      wrong_result("a reader was in together with a writer");
  }
  // When all is over: each write counted once, or two writers were in together.
  void check_writes(std::uint64_t writes) const {
    const auto low = static_cast<std::uint32_t>(writes);
    if (load(begun_) != low || load(ended_) != low)
      wrong_result("writes got lost: " + std::to_string(low) + " were done, " +
                   std::to_string(load(ended_)) + " are left");
  }

 private:
  // Atomic only so that a lock that fails is found by the counts and not by the compiler; plain
  // loads and stores on the machine.
  using Count = std::atomic<std::uint32_t>;
  static std::uint32_t load(const Count& c) noexcept { return c.load(std::memory_order_relaxed); }
  static void bump(Count& c) noexcept { c.store(load(c) + 1, std::memory_order_relaxed); }

  Count begun_{0};
  Count ended_{0};
};
static_assert(sizeof(pthread_rwlock_t) + 8 <= 64);

}  // namespace bench
