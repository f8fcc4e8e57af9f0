// pnova-rw, rwlock: range locks made of reader-writer locks, one for each segment of the units, or
// one for all of them.
//
// Paper: the baselines of A. Kogan, D. Dice, S. Issa, "Scalable Range Locks for Scalable Address
//   Spaces and Beyond", EuroSys 2020, sections 2 and 7.1: pNOVA's locks, after J. Kim and others
//   (APSys 2019), and one big lock.
// Idea: the units are cut into segments of the same length, which take turns at kSegments locks. A
//   range has the locks of all segments that it touches.
// State: the locks, all zeroes at first, which is a free lock of any kind; the length of a segment.
//   The caller gives the functions that run on them, always the same ones.
// Invariants: locks are acquired by rising numbers, so acquisitions of one range each cannot be in
//   a ring of waiters.
// Fairness: the locks'. A range that has some of its locks keeps others out while it waits.
// Deviations: pNOVA has as many segments as its file is long. Here numbers begin again after
//   kSegments segments, so that every range has its locks.
// A thread that holds a range has locks that its next range may need: those locks decide what
//   happens then (EDEADLK, or a wait for ever).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <pthread.h>

#include "platform/clock.h"
#include "platform/system_rwlock.h"
#include "range/request.h"

namespace lockswap {

// The length of a segment, in units, where the program gives none. Written at start-up.
inline constinit std::uint64_t default_range_segment = 4096;

// The locks of a range: `count` locks from `first` on, where 0 follows `of` - 1. 1 <= count <= of.
struct Segments {
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t of;

  // Those of [start, end), if a segment has `length` units.
  static Segments of_range(std::uint64_t start, std::uint64_t end, std::uint64_t length,
                           std::uint32_t of) noexcept {
    return from_to(start / length, (end - 1) / length, of);
  }
  // Those of the segments from `one` to `last`.
  static Segments from_to(std::uint64_t one, std::uint64_t last, std::uint32_t of) noexcept {
    const std::uint64_t behind = last - one;
    return {static_cast<std::uint32_t>(one % of),
            behind < of ? static_cast<std::uint32_t>(behind) + 1 : of, of};
  }
  // The numbers, rising: i from 0 to count - 1.
  std::uint32_t at(std::uint32_t i) const noexcept {
    if (count == of) return i;
    const std::uint32_t round = first + count > of ? first + count - of : 0;  // begin again at 0
    return i < round ? i : first + i - round;
  }
};

class SegmentLocks {
 public:
  static constexpr std::uint32_t kSegments = 256;

  SegmentLocks(const RwOps& ops, pthread_rwlock_t* locks) noexcept : ops_(ops), locks_(locks) {}

  // 0; or the errno of the first lock that could not be acquired, and then none of them is held.
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

  // Returns whether one of them is held, when nobody acquires or releases.
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
