// Calls that a thread left without coming back: it jumped out of a signal handler, or was cancelled
// asynchronously. Locks with a queue keep the place of such a waiter.
#include <cstdint>

#include "audit/entry.h"
#include "audit/report.h"

namespace lockswap::audit {

void Entry::inside_another(const void* lock, std::uint64_t site, const void* frame) noexcept {
  if (!CallMark::was_left(me_.outer.mark, frame)) {
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
