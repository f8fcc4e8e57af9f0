// The range locks that arrbench's array may have: the library's, which LOCKSWAP_RANGE chooses, or
// the lists as the paper measured them.
#pragma once

#include <cstdint>
#include <thread>

#include "common/report.h"
#include "config/config.h"
#include "lockswap/range_lock.h"
#include "platform/native.h"
#include "range/list.h"
#include "wait/park.h"

namespace bench {

class LibraryRanges {
 public:
  using Held = lockswap_range;

  // How many units a segment has, in locks that have segments.
  explicit LibraryRanges(int segment) {
    lockswap_range_lock_attr attr;
    must(lockswap_range_lock_attr_init(&attr), "lockswap_range_lock_attr_init");
    must(lockswap_range_lock_attr_set_segment(&attr, static_cast<std::uint64_t>(segment)),
         "lockswap_range_lock_attr_set_segment");
    must(lockswap_range_lock_init(&lock_, &attr), "lockswap_range_lock_init");
  }
  LibraryRanges(const LibraryRanges&) = delete;
  LibraryRanges& operator=(const LibraryRanges&) = delete;

  void acquire(Held& range, std::uint32_t begin, std::uint32_t end, bool shared) {
    must(lockswap_range_acquire(&lock_, &range, begin, end,
                                shared ? LOCKSWAP_RANGE_SHARED : LOCKSWAP_RANGE_EXCLUSIVE),
         "lockswap_range_acquire");
  }
  void release(Held& range) { must(lockswap_range_release(&range), "lockswap_range_release"); }

 private:
  lockswap_range_lock lock_;
};

// The list of sections 4.1 and 4.2 alone, without fairness (4.3) and without the fast path (4.5):
// each range is put in by a walk, and released by a flag. The templates are the library's, which
// always has both, so only this program has them in this form.
template <bool kReaders>
class ListAsInPaper {
  using Machine = lockswap::Native;
  using Lock = lockswap::RangeList<Machine, lockswap::Park<Machine>, kReaders,
                                   lockswap::kRangeSizes<Machine>>;

 public:
  using Held = typename Lock::Node*;

  explicit ListAsInPaper(int) {
    // Waiting threads spin as long as under the library's locks.
    Machine::set_most_pauses(lockswap::Config{}.spin,
                             {.allowed = std::thread::hardware_concurrency()});
  }
  ListAsInPaper(const ListAsInPaper&) = delete;
  ListAsInPaper& operator=(const ListAsInPaper&) = delete;

  void acquire(Held& range, std::uint32_t begin, std::uint32_t end, bool shared) {
    const lockswap::RangeRequest request{begin, end, shared, false, nullptr};
    must(lock_.acquire_slowly(request, {.fair = false, .writers_first = false}, range), "acquire");
  }
  void release(Held& range) { lock_.release_slowly(range); }

 private:
  Lock lock_{};
};

}  // namespace bench
