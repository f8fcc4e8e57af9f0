// Fairness between acquisitions of a range lock: a thread that has failed too often asks the others
// to wait.
//
// Paper: as list.h, section 4.3.
// Idea: a counter of impatient threads, and an auxiliary fair reader-writer lock (PF-T). While the
//   counter is not 0, a new acquisition takes the auxiliary lock for reading first; an impatient
//   thread takes it for writing.
// State (32 bytes, zero = free): the counter, the lock.
// Invariants: a thread waits here only when it holds no range, and never longer than kPolite. So
//   fairness never makes a deadlock, though the thread that holds the range which the impatient one
//   needs may itself need another range, or any other lock of a thread that waits here.
// Deviations: that bound is ours. The paper lets all threads wait until the impatient one is in,
//   which is safe only for threads that hold nothing else. Acquisitions that try or that have a
//   deadline bound their own wait and do not queue.
#pragma once

#include <cstdint>

#include "locks/rw/pf-t.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

// kPatience: after so many attempts a thread is impatient.
template <Platform P, WaitPolicy<P> W, std::uint32_t kPatience>
class RangeQueue {
 public:
  // An acquisition's place in the queue. `used` false: it has none.
  class Place {
   public:
    Place(RangeQueue& queue, bool used) noexcept : queue_(queue), used_(used) {}
    ~Place() {
      give_back();
      // relaxed: the counter is advice.
      if (impatient_) queue_.impatient_.fetch_sub(1, relaxed);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Before the acquisition's attempt of that number, from 0.
    void attempt(std::uint32_t number) noexcept {
      if (!used_) return;
      if (number == 0 && queue_.is_asked()) {
        const std::uint32_t phase = queue_.lock_.read_arrive();
        const Deadline polite = deadline_in(P::now(), kPolite);
        // If it withdraws too late, it holds the lock.
        if (phase == 0 || queue_.lock_.read_wait(phase, &polite) ||
            !queue_.lock_.read_withdraw(phase)) {
          held_ = Held::read;
        }
      }
      if (number < kPatience || held_ == Held::write) return;
      give_back();
      if (!impatient_) queue_.impatient_.fetch_add(1, relaxed);
      impatient_ = true;
      const Deadline polite = deadline_in(P::now(), kPolite);
      if (queue_.lock_.write_lock_until(&polite)) held_ = Held::write;
    }

   private:
    enum class Held : std::uint8_t { nothing, read, write };

    void give_back() noexcept {
      if (held_ == Held::read) queue_.lock_.read_unlock();
      if (held_ == Held::write) queue_.lock_.write_unlock();
      held_ = Held::nothing;
    }

    RangeQueue& queue_;
    const bool used_;
    bool impatient_ = false;
    Held held_ = Held::nothing;
  };

  // Whether an impatient thread asks the others to wait.
  bool is_asked() const noexcept { return impatient_.load(relaxed) != 0; }  // relaxed: advice

 private:
  static constexpr std::uint64_t kPolite = 10'000'000;  // ns; a few turns of the scheduler

  typename P::template atomic<std::uint32_t> impatient_{};
  PfT<P, W> lock_{};
};

}  // namespace lockswap
