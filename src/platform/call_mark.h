// Marks a call for its duration, so that a later call of the same thread can see whether the thread
// left that one without returning, by a siglongjmp out of a signal handler.
#pragma once

#include <csignal>
#include <cstdint>

#include "platform/futex.h"

namespace lockswap {

// A local variable of a call.
class CallMark {
 public:
  CallMark() noexcept = default;
  ~CallMark() { mark_ = 0; }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

  // Returns whether the thread has left an earlier call, which did not return. `outer` is where
  // that call's mark is or was, `frame` belongs to the call that the thread makes now. If a signal
  // handler makes this one while the earlier call still waits, its frame lies deeper in the stack,
  // or on an alternate signal stack. In that case the earlier call is over if its mark was
  // overwritten; the kernel reads the mark, since the stack may be gone. One or two system calls.
  static bool was_left(const CallMark* outer, const void* frame) noexcept {
    stack_t of_handlers{};
    const bool is_there =
        sigaltstack(nullptr, &of_handlers) == 0 && (of_handlers.ss_flags & SS_ONSTACK) != 0;
    const auto at = reinterpret_cast<std::uintptr_t>(outer);
    return (!is_there && reinterpret_cast<std::uintptr_t>(frame) >= at) ||
           !futex_word_is(at, kMark);
  }

  // Returns whether the mark of another thread's call is still there. Its stack may be gone.
  static bool stands(std::uint64_t mark) noexcept { return futex_word_is(mark, kMark); }

 private:
  static constexpr std::uint32_t kMark = 0x1ea7ca11;

  volatile std::uint32_t mark_ = kMark;
};
static_assert(sizeof(CallMark) == sizeof(std::uint32_t));

}  // namespace lockswap
