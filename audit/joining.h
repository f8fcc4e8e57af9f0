// Threads that wait for another one to end while they hold locks. If that thread asks for such a
// lock, both wait for ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "audit/guard.h"
#include "audit/me.h"
#include "audit/threads.h"
#include "platform/atomic.h"

namespace lockswap::audit {

class Joins {
 public:
  struct Join {
    pthread_t thread{};  // waits for this one to end
    std::uint64_t serial{}, site{};
    std::uint32_t tid{};  // of the waiting thread; 0: free
    std::uint32_t count{};
    bool said{};
    HeldLock held[kMostHeld]{};
  };

  // From here on the calling thread waits for that one. Returns nullptr if there is no room.
  Join* begin(const Me& m, pthread_t thread, std::uint64_t site) noexcept;
  void end(Join* join) noexcept;

  bool is_any() const noexcept { return active_.load(relaxed) != 0; }
  // Called when the thread asks for a lock without a deadline.
  void look_at(const Me& m, const Question& question) noexcept;

 private:
  static constexpr std::size_t kJoins = 32;

  Join* free_join(const Me& m) noexcept;
  void look_at_joined(const Me& m, Join& join) noexcept;
  void say(Join& join, const HeldLock& held, const Question& question, std::uint32_t tid,
           std::uint32_t stack) noexcept;

  Guard guard_;
  // relaxed: a thread that asks at the same moment may be missed
  NativeAtomic<std::uint32_t> active_{};
  Join all_[kJoins]{};
};

}  // namespace lockswap::audit
