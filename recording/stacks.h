// A table of stacks: each is stored once, and identified by a number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/atomic.h"
#include "platform/guard.h"
#include "recording/place.h"
#include "recording/unwind.h"

namespace lockswap::recording {

struct Stack {
  std::uint64_t hash;
  std::uint32_t count;
  std::uint32_t cut;         // 1: there were more frames
  Place frame[kMostFrames];  // return addresses, the innermost first; only `count` of them exist
};
constexpr std::uint32_t bytes_of_stack(std::uint32_t count) noexcept {
  return static_cast<std::uint32_t>(offsetof(Stack, frame) + count * sizeof(Place));
}

inline std::uint64_t hash_of(const Place* frame, std::uint32_t count) noexcept {
  std::uint64_t h = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    h = (h ^ frame[i]) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
  }
  return h;
}

// A stack's number is its offset in Memory. Memory has slots(), an array of numbers, which are 0 at
// first; at(number), which is a Stack; and take(bytes), which returns the number of new memory, or
// 0 if it is full. take is called under the guard.
template <class Memory>
class StackTable {
 public:
  // Returns the stack's number, or 0 if there is no room.
  static std::uint32_t keep(Guard& guard, const Place* frame, std::uint32_t count,
                            bool cut) noexcept {
    const std::uint64_t hash = hash_of(frame, count);
    std::uint32_t step = 0;
    if (const std::uint32_t at = find(hash, frame, count, step); at != 0) return at;
    guard.lock();
    std::uint32_t at = find(hash, frame, count, step);
    if (at == 0 && step < kMostSteps) {
      at = Memory::take(bytes_of_stack(count));
      if (at != 0) {
        Stack& s = Memory::at(at);
        s.hash = hash;
        s.count = count;
        s.cut = cut ? 1 : 0;
        std::memcpy(s.frame, frame, count * sizeof *frame);
        slot(hash, step).store(at, release);  // pairs with find
      }
    }
    guard.unlock();
    return at;
  }

 private:
  static constexpr std::uint32_t kMostSteps = 64;

  static NativeAtomic<std::uint32_t>& slot(std::uint64_t hash, std::uint32_t step) noexcept {
    auto& slots = Memory::slots();
    return slots[(hash + step) % (sizeof slots / sizeof *slots)];
  }
  // Searches from that step on. Afterwards the step is where the stack was found, or where it could
  // be put.
  static std::uint32_t find(std::uint64_t hash, const Place* frame, std::uint32_t count,
                            std::uint32_t& step) noexcept {
    for (; step < kMostSteps; ++step) {
      const std::uint32_t at = slot(hash, step).load(acquire);  // pairs with keep
      if (at == 0) return 0;
      const Stack& s = Memory::at(at);
      if (s.hash == hash && s.count == count &&
          std::memcmp(s.frame, frame, count * sizeof *frame) == 0)
        return at;
    }
    return 0;
  }
};

// Unwinds the calling thread's stack, and returns the number from keep(unwound, places), or 0 if
// there is no stack. A separate function, because few calls need so much stack.
template <class PlaceOf, class Keep>
[[gnu::noinline]] std::uint32_t unwind_anew(KnownStack& known, std::uint64_t caller,
                                            std::uint64_t pointer, std::uint32_t most,
                                            PlaceOf place_of, Keep keep) noexcept {
  Unwound u;
  unwind(u, most);
  if (u.count == 0) return 0;
  Place frame[kMostFrames];
  for (std::uint32_t i = 0; i < u.count; ++i)
    frame[i] = place_of(u.pc[i]);
  const std::uint32_t stack = keep(u, frame);
  if (stack != 0) known.remember(caller, pointer, stack, u);
  return stack;
}

}  // namespace lockswap::recording
