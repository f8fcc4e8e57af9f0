// Fairness between acquisitions of a range lock: one that has failed too often closes a gate, and
// the others wait there until it has its range.
//
// Paper: as list.h, section 4.3.
// Idea: one acquisition at a time is the keeper of the gate. It publishes its range, and
//   acquisitions of an overlapping range wait before their next attempt. So the keeper waits only
//   for ranges that were held, or about to be, when the gate closed. An older impatient acquisition
//   takes the gate over, so each becomes the keeper sooner or later. The keeper opens the gate when
//   it succeeds or gives up.
// State (32 bytes, zero = free): the gate, the keeper's range, the next serial number. The gate is
//   0 (open), or the keeper's serial number with the stamp of its process and two flags.
// Invariants: a thread that holds a range of any lock passes the gate. So threads that wait here
//   hold no range, and nobody who wants a range waits for them. A cycle of waiting threads through
//   the gate therefore needs another kind of lock, which a thread here holds and the holder of a
//   range waits for. (A reader-writer lock whose readers wait behind a waiting writer makes the
//   same cycle.) Therefore a waiter that sees the same keeper for eight seconds opens the gate.
//   This also helps if the keeper's thread was cancelled during the call.
// Fairness: only threads that hold ranges overtake the keeper, and threads that were already past
//   the gate do so at most once. Timed acquisitions take part until their deadlines. One that only
//   tries never closes the gate, and fails where others would wait.
// Fork: the keeper does not exist in a child. The stamp shows that, and then the gate counts as
//   open.
// Deviations: the paper has a counter and an auxiliary reader-writer lock, behind which every
//   thread waits, whatever it wants and holds. That is safe only for threads that hold nothing
//   else. That others may open the gate is also ours.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "range/request.h"
#include "wait/concept.h"

namespace lockswap {

// kPatience: the number of attempts after which an acquisition is impatient.
template <Platform P, WaitPolicy<P> W, std::uint32_t kPatience>
class RangeQueue {
  using Word = std::uint64_t;

 public:
  // An acquisition's place in the queue.
  class Place {
   public:
    // Without `fair` it has no place: it neither waits at the gate nor closes it.
    Place(RangeQueue& queue, const RangeRequest& r, bool fair) noexcept
        : queue_(queue), r_(r), fair_(fair) {}
    ~Place() {
      if (keeper_ != 0) queue_.open(keeper_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Called before each attempt of the acquisition; `number` counts them from 0. Returns 0, or the
    // error with which the acquisition fails.
    int attempt(std::uint32_t number) noexcept {
      if (!fair_) return 0;
      const Word gate = queue_.gate_.load(relaxed);  // relaxed, as all of the gate: advice
      const bool impatient = number >= kPatience && !r_.only_try;
      return gate == 0 && !impatient ? 0 : pass(gate, impatient);
    }

   private:
    [[gnu::noinline]] int pass(Word gate, bool impatient) noexcept {
      if (impatient && keeper_ == 0) keeper_ = queue_.draw();
      for (;; gate = queue_.gate_.load(relaxed)) {
        const bool closed = is_closed(gate);
        if (closed && (gate & kName) == keeper_) return 0;
        if (gate != 0 && !closed) {  // a keeper of the parent's
          queue_.open(gate & kName);
          continue;
        }
        if (impatient && (!closed || is_older(gate))) {
          if (queue_.close(gate, keeper_, r_)) return 0;
          continue;
        }
        if (!closed || P::template local<RangesHeld>().count != 0) return 0;
        if (queue_.lets_pass(gate, r_)) return 0;
        if (r_.only_try) return EBUSY;
        P::check([] { return P::template local<RangesHeld>().count == 0; });
        // 32 times 250 ms in which the keeper did not succeed.
        const Deadline limit = within(r_.deadline, P::take_back() << 5);
        if (queue_.wait(gate, limit)) continue;
        if (r_.deadline != nullptr && P::passed(*r_.deadline)) return ETIMEDOUT;
        queue_.open(gate & kName);
      }
    }
    // Returns whether this acquisition became impatient before the keeper did. Serial numbers may
    // wrap.
    bool is_older(Word gate) const noexcept {
      return (gate & kBeingClosed) == 0 && ((keeper_ - gate) & kNewest) != 0;
    }

    RangeQueue& queue_;
    const RangeRequest& r_;
    const bool fair_;
    Word keeper_ = 0;  // the gate's value if this acquisition keeps it, without flags
  };

  // Returns whether the gate is open, for a fast path that does not need more.
  bool is_open() const noexcept { return gate_.load(relaxed) == 0; }

 private:
  static constexpr Word kSleepers = 1;     // a thread may sleep until the gate changes
  static constexpr Word kBeingClosed = 2;  // the published range is not the keeper's yet
  static constexpr Word kSerialStep = 4;   // in the half that threads sleep on, below the stamp
  static constexpr Word kSerial = P::kStampTop - kSerialStep;
  static constexpr Word kNewest = P::kStampTop >> 1;  // the highest bit of a serial number
  static constexpr Word kName = kSerial | P::kStampMask;
  static constexpr std::uint32_t kChannel = 1;

  static bool is_closed(Word gate) noexcept {
    return gate != 0 && (gate & P::kStampMask) == P::process();
  }

  Word draw() noexcept {
    const Word serial = std::uint64_t{serials_.fetch_add(1, relaxed)} * kSerialStep & kSerial;
    return serial | P::process();
  }
  // Makes this acquisition the keeper. Returns false if the gate has changed.
  bool close(Word gate, Word keeper, const RangeRequest& r) noexcept {
    if (!gate_.compare_exchange(gate, keeper | kBeingClosed, relaxed)) return false;
    start_.store(r.start, relaxed);
    end_.store(r.end, relaxed);
    // Threads that waited for the previous keeper, or saw no range, recheck.
    wake((gate_.fetch_and(~kBeingClosed, relaxed) | gate) & kSleepers);
    return true;
  }
  // Opens the gate if that keeper still has it.
  void open(Word keeper) noexcept {
    Word gate = gate_.load(relaxed);
    while ((gate & kName) == keeper) {
      if (gate_.compare_exchange(gate, 0, relaxed)) return wake(gate & kSleepers);
    }
  }
  // Returns whether the keeper wants other units than that acquisition. If another keeper publishes
  // its range meanwhile, the result may be wrong, but then the gate has changed.
  bool lets_pass(Word gate, const RangeRequest& r) const noexcept {
    if ((gate & kBeingClosed) != 0) return false;
    return start_.load(relaxed) >= r.end || end_.load(relaxed) <= r.start;
  }
  // Waits until the gate changes. Returns false if the deadline has passed.
  bool wait(Word gate, const Deadline& deadline) noexcept {
    return W::until(gate_, relaxed, kSleepers, kChannel, &deadline,
                    [gate](Word now) { return ((now ^ gate) & ~kSleepers) != 0; });
  }
  void wake(Word sleepers) noexcept {
    if (sleepers != 0) W::wake(&gate_, kChannel);
  }

  typename P::template atomic<Word> gate_{};
  typename P::template atomic<std::uint64_t> start_{};
  typename P::template atomic<std::uint64_t> end_{};
  typename P::template atomic<std::uint32_t> serials_{};
};

}  // namespace lockswap
