#include "audit/stacks.h"

#include <algorithm>
#include <cstring>

#include "audit/report.h"
#include "audit/world.h"
#include "platform/clock.h"
#include "recording/modules.h"
#include "recording/places.h"

namespace lockswap::audit {
namespace {

using Frame = recording::Place;
using recording::Stack;

struct InWorld {
  static auto& slots() noexcept { return world().stacks.slot; }
  static Stack& at(std::uint32_t offset) noexcept {
    return *reinterpret_cast<Stack*>(world().stacks.bytes + offset);
  }
  static std::uint32_t take(std::uint32_t bytes) noexcept {
    Stacks& s = world().stacks;
    const std::uint32_t at = std::max(s.used, recording::bytes_of_stack(0));
    if (at + bytes > sizeof s.bytes) return 0;
    s.used = at + bytes;
    return at;
  }
};

std::uint32_t keep(const Frame* frame, std::uint32_t count, bool cut) noexcept {
  const std::uint32_t at = recording::StackTable<InWorld>::keep(world().guard, frame, count, cut);
  if (at == 0) audit::count(Count::stacks_forgotten);
  return at;
}

Frame place_of_code(std::uint64_t return_address) noexcept {
  return recording::place_of_code(record().head, world().guard, return_address);
}

// At most an eighth of the thread's time, plus a fixed amount at the beginning.
bool may_unwind(const Unwinding& u, std::uint64_t now) noexcept {
  constexpr std::uint64_t kAtFirst = 20'000'000;
  return u.spent_ns < kAtFirst + (now - u.begun) / 8;
}

// A separate function, so that the search for a known stack stays short.
[[gnu::noinline]] std::uint32_t take_new_stack(Unwinding& mine, recording::KnownStack& known,
                                               std::uint64_t site, std::uint64_t pointer) noexcept {
  const std::uint64_t begin = monotonic_ns();
  if (mine.begun == 0) mine.begun = begin;
  std::uint32_t stack = 0;
  if (may_unwind(mine, begin)) {
    stack = recording::unwind_anew(
        known, site, pointer, kFrames, place_of_code,
        [&, begin, site](const recording::Unwound& u, const Frame* frame) noexcept {
          // A stack that does not begin with the caller may be wrong.
          if (u.pc[0] != site) return std::uint32_t{0};
          const std::uint32_t kept = keep(frame, u.count, u.cut);
          mine.spent_ns += monotonic_ns() - begin;
          return kept;
        });
  } else {
    count(Count::stacks_left_out);
  }
  if (stack != 0) return stack;
  const Frame one = place_of_code(site);
  return keep(&one, 1, true);
}

}  // namespace

recording::Place object_at(std::uint64_t address) noexcept {
  return recording::place_of_data(record().head, world().guard, address);
}

[[gnu::noinline]] std::uint32_t take_stack(const Me& m, std::uint64_t site) noexcept {
  if (m.record == nullptr || m.record->unwinding == nullptr || recording::modules.at == nullptr)
    return 0;
  const Busy busy;
  Unwinding& mine = *m.record->unwinding;
  const auto pointer = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  recording::KnownStack& known = mine.known.at(site, pointer);
  if (known.is_still_valid(site, pointer)) return known.stack;
  return take_new_stack(mine, known, site, pointer);
}

std::uint32_t stack_in_record(std::uint32_t stack) noexcept {
  if (stack == 0) return 0;
  const Stack& s = InWorld::at(stack);
  Record& r = record();
  const std::uint32_t count = r.stacks.load(relaxed);  // relaxed: under the guard
  for (std::uint32_t i = 0; i < count; ++i) {
    const RecordedStack& one = r.stack[i];
    if (one.count == s.count && std::memcmp(one.frame, s.frame, s.count * sizeof *s.frame) == 0)
      return i + 1;
  }
  if (count == kStacks) return 0;
  RecordedStack& into = r.stack[count];
  into.count = s.count;
  into.cut = s.cut;
  std::memcpy(into.frame, s.frame, s.count * sizeof *s.frame);
  r.stacks.store(count + 1, release);  // pairs with no load: a reader may come at any time
  return count + 1;
}

std::uint64_t innermost_frames(std::uint32_t stack) noexcept {
  constexpr std::uint32_t kInnermost = 3;  // a wrapper, its user, and that one's caller
  const Stack& s = InWorld::at(stack);
  return recording::hash_of(s.frame, std::min(s.count, kInnermost));
}

}  // namespace lockswap::audit
