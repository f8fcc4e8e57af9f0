// Stacks of this process, each kept once and known by a small number. Where one is needed for the
// report, it is copied into the record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/guard.h"
#include "audit/me.h"
#include "audit/record.h"
#include "platform/atomic.h"

namespace lockswap::audit {

class Stacks {
 public:
  // Its number; 0: there is no room.
  std::uint32_t keep(const Frame* frame, std::uint32_t count, bool cut) noexcept;
  // Its place in the record, plus 1; 0: none, or there is no room. Under the guard of the report.
  std::uint32_t in_record(std::uint32_t stack) noexcept;
  // The same for two stacks whose innermost frames are the same.
  std::uint64_t innermost(std::uint32_t stack) const noexcept;

 private:
  static constexpr std::uint32_t kMost = 1u << 14, kSlots = 1u << 15, kSteps = 32;

  struct Kept {
    std::uint64_t hash{};
    std::uint32_t count{};
    std::uint32_t cut{};
    std::uint32_t in_record{};
    Frame frame[kFrames]{};
  };

  std::uint32_t find(std::uint64_t hash, const Frame* frame, std::uint32_t count,
                     std::uint32_t& step) const noexcept;

  Guard guard_;
  std::uint32_t count_{};
  NativeAtomic<std::uint32_t> slot_[kSlots]{};
  Kept all_[kMost]{};  // the first one is none
};

// The calling thread's, from the exported function's caller on, which returns to `site`. That frame
// alone where an unwinding would take too much of the thread's time. 0: there is no room.
std::uint32_t take_stack(const Me& m, std::uint64_t site) noexcept;

// Where the object at that address lies.
Frame object_at(std::uint64_t address) noexcept;

}  // namespace lockswap::audit
