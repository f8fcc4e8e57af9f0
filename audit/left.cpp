// Calls that a thread left without returning: it jumped out of a signal handler, or was cancelled
// asynchronously. Locks with a queue still have such a waiter's node.
#include <algorithm>
#include <cstdint>

#include <sys/auxv.h>

#include "audit/entry.h"
#include "audit/report.h"
#include "recording/unwind.h"

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

namespace {

// Returns true if the calling thread is certainly not in a call from there: the stack could be
// walked to where the program begins.
bool is_off_stack(std::uint64_t site) noexcept {
  constexpr std::uint64_t kMostOfStart = 256;  // bytes in the program's first function
  recording::Unwound stack;
  recording::unwind(stack, recording::kMostFrames);
  if (stack.cut || stack.count == 0) return false;
  const std::uint64_t* const end = stack.pc + stack.count;
  return end[-1] - getauxval(AT_ENTRY) < kMostOfStart &&
         std::find<const std::uint64_t*>(stack.pc, end, site) == end;
}

}  // namespace

// A handler may have called exit during the call, and then the call is still on the stack.
void note_left_call_at_exit(const Me& m, const void* frame) noexcept {
  if (m.inside == 0 || m.busy) return;
  const Busy busy;
  if (CallMark::was_left(m.outer.mark, frame) || is_off_stack(m.outer.site)) note_left_call(m);
}

}  // namespace lockswap::audit
