// Calls that a thread left without coming back: it jumped out of a signal handler, or was cancelled
// asynchronously. Locks with a queue keep the place of such a waiter.
#include <csignal>
#include <cstdint>

#include "audit/entry.h"
#include "audit/report.h"
#include "platform/futex.h"

namespace lockswap::audit {

// A handler's frames lie deeper in the stack than the Entry of the call that it interrupted, or on
// a stack of handlers. Where this call's frame does, too, the outer one is over if its Entry was
// overwritten. The kernel looks at that, since a stack that was left may be gone.
bool Entry::has_left_outer(const void* frame) const noexcept {
  stack_t of_handlers{};
  const bool is_there =
      sigaltstack(nullptr, &of_handlers) == 0 && (of_handlers.ss_flags & SS_ONSTACK) != 0;
  const auto address = [](const volatile void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  const std::uintptr_t outer = address(me_.outer.entry);
  if (!is_there && address(frame) >= outer) return true;
  return !futex_word_is(outer + (address(&mark_) - address(this)), kMark);
}

void Entry::inside_another(const void* lock, std::uint64_t site, const void* frame) noexcept {
  if (!has_left_outer(frame)) {
    note(Finding::in_signal_handler, {.lock = lock, .site = site});
    return;
  }
  note_left_call(me_);
  me_.inside = 0;
}

void note_left_call(const Me& m) noexcept {
  note(Finding::left_lock_call, {.lock = m.outer.lock, .site = m.outer.site});
}

}  // namespace lockswap::audit
