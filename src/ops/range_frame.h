// The objects of range locks, and the functions behind them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "range/request.h"

namespace lockswap {

// How the bytes of a lockswap_range_lock are divided. All zeroes: a new lock, of the default kind.
struct RangeFrame {
  static constexpr std::size_t kBytes = 64;

  NativeAtomic<std::uint32_t> kind;  // as below; 0: nobody has used it
  std::uint32_t unused;
  alignas(8) std::byte state[kBytes - 8];  // the implementation's; zeroes are a free lock
};
static_assert(sizeof(RangeFrame) == RangeFrame::kBytes);

// A kind: the implementation's number, from 1, options, and which reader-writer lock is inside.
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

// How the bytes of a lockswap_range are divided.
struct RangeHandle {
  void* node;  // nullptr if there is no range
  RangeFrame* lock;
};

enum class RangeMode : std::uint32_t { exclusive, shared };

// An implementation behind its names. Callers pass locks that are bound, and handles that have a
// range; the functions return error numbers. The first and the third are the fast paths: callers do
// nothing before them but find them.
struct RangeOps {
  int (*acquire)(RangeFrame&, RangeHandle&, std::uint64_t start, std::uint64_t end, RangeMode);
  int (*acquire_within)(RangeFrame&, RangeHandle&,
                        const RangeRequest&);  // tries, or has a deadline
  int (*release)(RangeHandle&);
  int (*downgrade)(RangeHandle&);
  int (*try_upgrade)(RangeHandle&);
  bool (*busy)(RangeFrame&);
  // A new lock, of which all else is zero; `segment`: units, or 0: the default.
  void (*begin)(RangeFrame&, std::uint64_t segment);
  void (*end)(RangeFrame&);  // a lock that is not busy
};

}  // namespace lockswap
