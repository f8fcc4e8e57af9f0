// Tells whether a thread that nobody has joined has ended, so that a join would return at once.
#pragma once

#include <cstdint>
#include <pthread.h>

#include "platform/atomic.h"

namespace lockswap {

// The kernel sets the id in glibc's thread descriptor to 0 when the thread has ended.
class EndedThread {
 public:
  // Called once, at start-up, with what glibc records for debuggers, which is where the id is (its
  // bits, 1, its offset), and the calling thread's id. If the word there isn't this id, threads
  // are never reported to have ended.
  static void find(const std::uint32_t* field, std::uint32_t own_id) noexcept {
    if (field == nullptr || field[0] != 32 || field[1] != 1 || field[2] == 0) return;
    if (id_of(::pthread_self(), field[2]) == own_id) offset_.store(field[2], relaxed);
  }
  static bool is(pthread_t thread) noexcept {
    const std::uint32_t offset = offset_.load(relaxed);
    return offset != 0 && id_of(thread, offset) == 0;
  }

 private:
  static std::uint32_t id_of(pthread_t thread, std::uint32_t offset) noexcept {
    // relaxed: a racy snapshot. A pthread_t is the descriptor's address.
    return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(thread + offset),
                           __ATOMIC_RELAXED);
  }
  // 0 if not known. All relaxed: start-up comes before threads.
  static inline constinit NativeAtomic<std::uint32_t> offset_{0};
};

}  // namespace lockswap
