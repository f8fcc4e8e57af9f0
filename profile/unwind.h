// The return addresses on the calling thread's stack, by the tables for exceptions (cfi.h). No lock
// is taken, and no memory.
#pragma once

#include <cstdint>

#include "profile/record.h"

namespace lockswap::profile {

// The innermost first. This library's own frames are left out.
struct Unwound {
  std::uint32_t count = 0;
  bool cut = false;  // there are more
  std::uint64_t pc[kMostFrames];
  std::uint64_t pc_at[kMostFrames];  // where each stands; 0: in a register
};
// most: of the frames, up to kMostFrames.
void unwind(Unwound& into, std::uint32_t most) noexcept;

// A stack that this thread has had. It has it again if its return addresses still stand where they
// were found: that costs a load for each frame, and no unwinding.
struct KnownStack {
  std::uint64_t caller, pointer;  // the exported function's caller, and a place on the stack
  std::uint32_t stack;
  std::uint32_t count;
  std::uint64_t pc[kMostFrames];
  std::uint64_t pc_at[kMostFrames];
};

inline bool still_stands(const KnownStack& k) noexcept {
  for (std::uint32_t i = 0; i < k.count; ++i) {
    const auto* at = reinterpret_cast<const std::uint64_t*>(k.pc_at[i]);
    if (*at != k.pc[i]) return false;
  }
  return true;
}

}  // namespace lockswap::profile
