// The layout of range lock objects, and the functions for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "range/request.h"

namespace lockswap {

// The layout of a lockswap_range_lock. All zeroes are a new lock of the default kind.
struct RangeFrame {
  static constexpr std::size_t kBytes = 64;

  NativeAtomic<std::uint32_t> kind;  // as below; 0: not used yet
  std::uint32_t unused;
  alignas(8) std::byte state[kBytes - 8];  // for the implementation; zero: a free lock
};
static_assert(sizeof(RangeFrame) == RangeFrame::kBytes);

// A kind: the implementation's number (from 1), its options, and the reader-writer lock inside.
struct RangeKind {
  static constexpr std::uint32_t kNumber = 0xff;
  static constexpr std::uint32_t kFair = 1u << 8;
  static constexpr std::uint32_t kWritersFirst = 1u << 9;
  static constexpr std::uint32_t kOptions = kFair | kWritersFirst;
  static constexpr std::uint32_t kInnerShift = 16;  // the row in rwlocks()

  static constexpr RangeOptions options(std::uint32_t kind) noexcept {
    return {.fair = (kind & kFair) != 0, .writers_first = (kind & kWritersFirst) != 0};
  }
  static constexpr std::uint32_t inner(std::uint32_t kind) noexcept { return kind >> kInnerShift; }
};

// The layout of a lockswap_range.
struct RangeHandle {
  void* node;  // nullptr if there is no range
  RangeFrame* lock;
};

enum class RangeMode : std::uint32_t { exclusive, shared };

// The functions of an implementation. Callers pass only locks that are bound, and handles that have
// a range. The functions return error numbers. The first and the third are the fast paths, before
// which callers do nothing but find them.
struct RangeOps {
  int (*acquire)(RangeFrame&, RangeHandle&, std::uint64_t start, std::uint64_t end, RangeMode);
  int (*acquire_within)(RangeFrame&, RangeHandle&,
                        const RangeRequest&);  // a try, or with a deadline
  int (*release)(RangeHandle&);
  int (*downgrade)(RangeHandle&);
  int (*try_upgrade)(RangeHandle&);
  bool (*busy)(RangeFrame&);
  // Makes a new lock, which is otherwise zero. `segment` is in units; 0: the default.
  void (*begin)(RangeFrame&, std::uint64_t segment);
  void (*end)(RangeFrame&);  // the lock must not be busy
};

}  // namespace lockswap
