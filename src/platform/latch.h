// Protects what one thread of a process does at a time, such as starting the library. A child that
// is forked meanwhile finds it free, because that thread doesn't exist there.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/identity.h"
#include "platform/process.h"
#include "platform/step_aside.h"

namespace lockswap {

class Latch {
 public:
  // Waits until no other thread of this process has it. Returns false if the calling thread has it
  // already.
  bool take() noexcept {
    const std::uint64_t me = std::uint64_t{Process::worker()} << kShift | thread_identity();
    for (std::uint64_t seen = kNobody; !whose_.compare_exchange(seen, me, acquire);) {
      if (seen == me) return false;
      if (seen >> kShift != me >> kShift) continue;
      // A yield is not enough: the other thread may have a lower real-time priority than this one.
      nap(100'000);
      seen = kNobody;
    }
    return true;
  }
  void give_back() noexcept { whose_.store(kNobody, release); }  // pairs with take

 private:
  static constexpr std::uint64_t kNobody = 0;
  static constexpr int kShift = 56;  // user addresses leave the top byte free for the process
  static_assert(Process::kNumbers <= 1 << (64 - kShift));

  NativeAtomic<std::uint64_t> whose_{kNobody};
};

}  // namespace lockswap
