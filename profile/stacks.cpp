#include "profile/stacks.h"

#include <algorithm>

#include "platform/ticks.h"
#include "profile/file.h"
#include "recording/places.h"
#include "recording/stacks.h"

namespace lockswap::profile {
namespace {

std::uint64_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uint64_t>(address);
}

Place place_of_code(std::uint64_t return_address) noexcept {
  return recording::place_of_code(record().head, world().guard, return_address);
}

// Access to stacks in the file.
struct InFile {
  static auto& slots() noexcept { return record().stack_at; }
  static recording::Stack& at(std::uint32_t offset) noexcept {
    return *at_offset<recording::Stack>(offset);
  }
  static std::uint32_t take(std::uint32_t bytes) noexcept { return take_bytes(bytes); }
};

std::uint32_t keep(const Place* frame, std::uint32_t count, bool cut) noexcept {
  if (count == 0) return 0;
  const std::uint32_t at = recording::StackTable<InFile>::keep(world().guard, frame, count, cut);
  if (at == 0) record().dropped.stacks.fetch_add(1, relaxed);  // relaxed: a count
  return at;
}

void count_unwinding(std::uint64_t begin) noexcept {
  Record& r = record();
  r.unwound.fetch_add(1, relaxed);  // relaxed, both: counts
  r.unwind_ns.fetch_add(Ticks::ns_between(begin, Ticks::now()), relaxed);
}

// A separate function, so that the search for a known stack stays short.
[[gnu::noinline]] std::uint32_t take_new_stack(recording::KnownStack& known, const void* caller,
                                               std::uint64_t pointer) noexcept {
  const std::uint64_t begin = Ticks::now();
  const std::uint32_t stack = recording::unwind_anew(
      known, number_of(caller), pointer, recording::kMostFrames, place_of_code,
      [=](const recording::Unwound& u, const Place* frame) noexcept {
        const std::uint32_t kept = keep(frame, u.count, u.cut);
        count_unwinding(begin);
        return kept;
      });
  return stack != 0 ? stack : stack_of(caller);
}

}  // namespace

Place place_of(const void* object) noexcept {
  return recording::place_of_data(record().head, world().guard, number_of(object));
}

[[gnu::noinline]] std::uint32_t take_stack(Thread& t, const void* caller,
                                           std::uint64_t now) noexcept {
  const auto pointer = number_of(__builtin_frame_address(0));
  recording::KnownStack& known = t.known.at(number_of(caller), pointer);
  if (known.is_still_valid(number_of(caller), pointer)) return known.stack;
  // Another thread may get the lock meanwhile, so this uses at most some 2 % of the thread's time.
  constexpr std::uint64_t kRestNs = 500'000;
  if (now != 0) {
    if (t.unwound_at != 0 && Ticks::ns_between(t.unwound_at, now) < kRestNs) return 0;
    t.unwound_at = now;
  }
  return take_new_stack(known, caller, pointer);
}

std::uint32_t first_frames(std::uint32_t stack, std::uint32_t count) noexcept {
  if (stack == 0) return 0;
  const recording::Stack& s = InFile::at(stack);
  return s.count <= count ? stack : keep(s.frame, count, true);
}

std::uint32_t outermost_frames() noexcept {
  constexpr std::uint32_t kFramesOfRoot = 6;
  const std::uint64_t begin = Ticks::now();
  recording::Unwound u;
  recording::unwind(u, recording::kMostFrames);
  const std::uint32_t count = std::min(u.count, kFramesOfRoot);
  Place frame[kFramesOfRoot];
  for (std::uint32_t i = 0; i < count; ++i)
    frame[i] = place_of_code(u.pc[u.count - count + i]);
  count_unwinding(begin);
  return u.cut ? 0 : keep(frame, count, false);
}

std::uint32_t stack_of(const void* caller) noexcept {
  const Place one = place_of_code(number_of(caller));
  return keep(&one, 1, true);
}

}  // namespace lockswap::profile
