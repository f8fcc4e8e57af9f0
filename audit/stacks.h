// Stacks of this process. Where one is needed for the report, it is copied into the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/me.h"
#include "audit/record.h"
#include "platform/atomic.h"
#include "recording/stacks.h"

namespace lockswap::audit {

// Their memory, which is empty in a child. A stack is known by its offset; there is none at 0.
struct Stacks {
  static constexpr std::uint32_t kMost = 1u << 14, kSlots = 1u << 15;

  NativeAtomic<std::uint32_t> slot[kSlots]{};
  std::uint32_t used{};
  alignas(recording::Stack) unsigned char bytes[kMost * recording::bytes_of_stack(kFrames)]{};
};

// The calling thread's, from the exported function's caller on, which returns to `site`. That frame
// alone where an unwinding would take too much of the thread's time. 0: there is no room.
std::uint32_t take_stack(const Me& m, std::uint64_t site) noexcept;

// Its place in the record, plus 1; 0: none, or there is no room. Under the guard of the report.
std::uint32_t stack_in_record(std::uint32_t stack) noexcept;
// The same for two stacks whose innermost frames are the same.
std::uint64_t innermost_frames(std::uint32_t stack) noexcept;

// Where the object at that address lies.
recording::Place object_at(std::uint64_t address) noexcept;

}  // namespace lockswap::audit
