// The return addresses on the calling thread's stack, found by the tables for exceptions (cfi.h).
// Takes no lock, and allocates no memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lockswap::recording {

inline constexpr std::uint32_t kMostFrames = 24;

// The innermost first, without this library's own frames.
struct Unwound {
  std::uint32_t count = 0;
  bool cut = false;  // there are more
  std::uint64_t pc[kMostFrames];
  std::uint64_t pc_at[kMostFrames];  // where each was read from; 0: a register
};
// most: how many frames, up to kMostFrames.
void unwind(Unwound& into, std::uint32_t most) noexcept;

// A stack that this thread had before. It is still valid if its return addresses are still where
// they were found. To check that costs a load for each frame, and no unwinding.
struct KnownStack {
  std::uint64_t caller, pointer;  // the exported function's caller, and a place on the stack
  std::uint32_t stack;
  std::uint32_t count;  // 0: unused
  std::uint64_t pc[kMostFrames];
  std::uint64_t pc_at[kMostFrames];

  bool is_still_valid(std::uint64_t by, std::uint64_t at) const noexcept {
    return count != 0 && caller == by && pointer == at && still_stands();
  }
  // Does nothing if one of its return addresses is in a register.
  void remember(std::uint64_t by, std::uint64_t at, std::uint32_t number,
                const Unwound& u) noexcept {
    count = 0;
    for (std::uint32_t i = 0; i < u.count; ++i) {
      if (u.pc_at[i] == 0) return;
    }
    caller = by;
    pointer = at;
    stack = number;
    std::memcpy(pc, u.pc, u.count * sizeof *u.pc);
    std::memcpy(pc_at, u.pc_at, u.count * sizeof *u.pc_at);
    count = u.count;
  }

 private:
  bool still_stands() const noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto* at = reinterpret_cast<const std::uint64_t*>(pc_at[i]);
      if (*at != pc[i]) return false;
    }
    return true;
  }
};

// A thread's last stacks. Zero in a new thread.
template <std::size_t kMost>
struct KnownStacks {
  static_assert(std::has_single_bit(kMost));
  KnownStack all[kMost];

  KnownStack& at(std::uint64_t caller, std::uint64_t pointer) noexcept {
    const std::uint64_t hash = (caller ^ pointer >> 4) * 0x9e3779b97f4a7c15u;
    return all[hash >> (64 - std::countr_zero(kMost))];
  }
  // Clears them for another thread.
  void forget() noexcept {
    for (KnownStack& one : all)
      one.count = 0;
  }
};

}  // namespace lockswap::recording
