// pnova-rw, rwlock: range locks made of reader-writer locks, either one for each segment of the
// units or one for all units.
//
// Paper: the baselines of A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address
//   Spaces and Beyond", EuroSys 2020, sections 2 and 7.1: pNOVA's locks, after J. Kim and others
//   (APSys 2019), and one big lock.
// Idea: the units are divided into segments of equal length, which share kSegments locks in turn. A
//   range holds the locks of all segments that it touches.
// State: the locks, zero at first, which is a free lock of any kind, and the length of a segment.
//   The caller passes the functions that operate on them, always the same ones.
// Invariants: locks are acquired in ascending order, so acquisitions of one range per thread can't
//   deadlock.
// Fairness: that of the locks. A range that has only some of its locks already keeps others out
//   while it waits.
// Deviations: pNOVA has as many segments as its file is long. Here segment n uses lock n modulo
//   kSegments, so every range has its locks.
// Several ranges: a thread that holds a range may have locks that its next range needs. Then those
//   locks decide what happens (EDEADLK, or an endless wait).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "platform/clock.h"
#include "platform/system_rwlock.h"
#include "range/request.h"

namespace lockswap {

// The length of a segment in units, unless the program gives one. Written at start-up.
inline constinit std::uint64_t default_range_segment = 4096;

// The locks of a range: `count` locks starting at `first`, where lock 0 follows lock `of` - 1. 1 <=
// count <= of.
struct Segments {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t of;

  // Returns the locks of [start, end), if a segment has `length` units.
  static Segments of_range(std::uint64_t start, std::uint64_t end, std::uint64_t length,
                           std::uint32_t of) noexcept {
    return from_to(start / length, (end - 1) / length, of);
  }
  // Returns the locks of the segments `one` to `last`.
  static Segments from_to(std::uint64_t one, std::uint64_t last, std::uint32_t of) noexcept {
    const std::uint64_t behind = last - one;
    return {static_cast<std::uint32_t>(one % of),
            behind < of ? static_cast<std::uint32_t>(behind) + 1 : of, of};
  }
  // Returns the number of lock i, 0 <= i < count. The numbers ascend.
  std::uint32_t at(std::uint32_t i) const noexcept {
    if (count == of) return i;
    const std::uint32_t round = first + count > of ? first + count - of : 0;  // wraps to 0
    return i < round ? i : first + i - round;
  }
};

class SegmentLocks {
 public:
  static constexpr std::uint32_t kSegments = 256;

  SegmentLocks(const RwOps& ops, pthread_rwlock_t* locks) noexcept : ops_(ops), locks_(locks) {}

  // Returns 0, or the errno of the first lock that could not be acquired, in which case none is
  // held.
  int take(const Segments& s, const RangeRequest& r) const noexcept {
    for (std::uint32_t i = 0; i < s.count; ++i) {
      const int error = take_one(&locks_[s.at(i)], r);
      if (error == 0) continue;
      give_back(s, i);
      return error;
    }
    return 0;
  }
  void give_back(const Segments& s) const noexcept { give_back(s, s.count); }

  // Returns whether one of them is held. No thread may acquire or release meanwhile.
  bool busy(std::uint32_t of) const noexcept {
    for (std::uint32_t i = 0; i < of; ++i) {
      if (ops_.trywrlock(&locks_[i]) != 0) return true;
      ops_.unlock(&locks_[i]);
    }
    return false;
  }

 private:
  int take_one(pthread_rwlock_t* l, const RangeRequest& r) const noexcept {
    const Deadline* d = r.deadline;
    if (r.only_try) return r.shared ? ops_.tryrdlock(l) : ops_.trywrlock(l);
    if (d != nullptr) {
      return r.shared ? ops_.clockrdlock(l, d->clock, &d->at)
                      : ops_.clockwrlock(l, d->clock, &d->at);
    }
    return r.shared ? ops_.rdlock(l) : ops_.wrlock(l);
  }
  void give_back(const Segments& s, std::uint32_t count) const noexcept {
    for (std::uint32_t i = count; i-- > 0;)
      ops_.unlock(&locks_[s.at(i)]);
  }

  const RwOps& ops_;
  pthread_rwlock_t* locks_;
};

}  // namespace lockswap
