// Stacks of this process. Those that the report needs are copied into the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/me.h"
#include "audit/record.h"
#include "platform/atomic.h"
#include "recording/stacks.h"

namespace lockswap::audit {

// The memory for stacks, which is empty in a child. A stack is identified by its offset, and offset
// 0 is unused.
struct Stacks {
  static constexpr std::uint32_t kMost = 1u << 14, kSlots = 1u << 15;

  NativeAtomic<std::uint32_t> slot[kSlots]{};
  std::uint32_t used{};
  alignas(recording::Stack) unsigned char bytes[kMost * recording::bytes_of_stack(kFrames)]{};
};

// Records the calling thread's stack, from the caller of the exported function on, which returns to
// `site`. Records that frame alone if unwinding would take too much of the thread's time. Returns 0
// if there is no room.
std::uint32_t take_stack(const Me& m, std::uint64_t site) noexcept;

// Returns the stack's index in the record plus 1, or 0 if there is none or no room. Must be called
// with the report's guard held.
std::uint32_t stack_in_record(std::uint32_t stack) noexcept;
// Returns a hash that is equal for stacks with the same innermost frames.
std::uint64_t innermost_frames(std::uint32_t stack) noexcept;

// Returns where the object at that address is.
recording::Place object_at(std::uint64_t address) noexcept;

}  // namespace lockswap::audit
