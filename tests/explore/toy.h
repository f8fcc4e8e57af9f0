// A textbook lock of one word, with one fault at a time: each fault breaks one property, and
// exploration must see it. `none` has no fault, and claims nothing either.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "platform/atomic.h"
#include "platform/clock.h"

namespace lockswap::explore {

enum class Fault : std::uint8_t {
  none,
  overlap,     // a writer does not wait for readers
  order,       // a release has no order
  no_wake,     // a release wakes nobody
  stray,       // a waiter that wakes up believes that it may go on
  stays,       // a writer forgets to leave
  leaks,       // a reader forgets to leave
  barges,      // claims phase fairness, and lets in every thread that comes
  disorder,    // claims an order of writers, and has none
  passes,      // claims that a writer which begins late is late, and has no order
  younger,     // claims an order of sleepers, and wakes the one that came last
  jumps,       // claims that sleeping readers are next, and lets in a writer that comes
  calls_two,   // a release wakes two threads, one after the other
  generous,    // each acquisition is a hand-off
  shy,         // a try fails on a lock that was written before
  hasty,       // a timed form does not wait
  never_late,  // a timed form that comes late does not look
  outwaits,    // a timed form waits as if it had no deadline
  unheard,     // a waiter asks for no channel
  wild,        // a writer that had to wait writes to a wild address
  endless      // a writer that had to wait goes round without a look at the lock
};

template <class P, class W, Fault kFault>
class Toy {
 public:
  static constexpr Claims kClaims{.phase_fair = kFault == Fault::barges,
                                  .fifo_writers = kFault == Fault::disorder,
                                  .fcfs_writers = kFault == Fault::passes,
                                  .sleepers_in_order = kFault == Fault::younger,
                                  .sleeping_readers_next = kFault == Fault::jumps};

  static bool prepare() noexcept { return true; }

  std::uint32_t read_arrive() noexcept {
    arrivals_.fetch_add(1, relaxed);
    return try_read_lock() ? 0 : 1;
  }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    do {
      if (!wait(no_writer, deadline)) return false;
    } while (!try_read_lock());
    return true;
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }
  bool try_read_lock() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (no_writer(v)) {
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;
    }
    return false;
  }
  void read_unlock() noexcept { leave(kFault == Fault::leaks ? 0 : kReader); }

  void write_lock() noexcept { lock(nullptr); }
  bool write_lock_until(const Deadline* deadline) noexcept {
    if (kFault == Fault::never_late && P::passed(*deadline)) return false;
    return lock(deadline);
  }
  bool try_write_lock() noexcept {
    if (kFault == Fault::shy && used_.load(relaxed) != 0) return false;
    return enter();
  }
  void write_unlock() noexcept {
    used_.store(1, relaxed);
    leave(kFault == Fault::stays ? 0 : kWriter);
  }

  bool has_readers() const noexcept { return word_.load(acquire) >= kReader; }
  bool has_writer() const noexcept { return !no_writer(word_.load(acquire)); }
  bool idle() const noexcept { return (word_.load(acquire) & ~kSleepers) == 0; }

 private:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kReader = 4;

  static bool no_writer(std::uint32_t v) noexcept { return (v & kWriter) == 0; }
  static bool may_write(std::uint32_t v) noexcept {
    return kFault == Fault::overlap ? no_writer(v) : (v & ~kSleepers) == 0;
  }

  bool lock(const Deadline* deadline) noexcept {
    const std::uint32_t before = arrivals_.fetch_add(1, relaxed);
    while (!enter()) {
      if (!wait(may_write, deadline, 1u << before)) return false;
      if (kFault == Fault::wild) *reinterpret_cast<volatile int*>(8) = 1;
      for (volatile bool for_ever = true; kFault == Fault::endless && for_ever;) {}
    }
    return true;
  }
  bool enter() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (may_write(v)) {
      if (!word_.compare_exchange(v, v | kWriter, acquire)) continue;
      if constexpr (kFault == Fault::generous) P::handed_off(this);
      return true;
    }
    return false;
  }
  template <class Pred>
  bool wait(Pred pred, const Deadline* deadline, std::uint32_t channel = 1) noexcept {
    if (kFault == Fault::hasty && deadline != nullptr) return false;
    if (kFault == Fault::outwaits) deadline = nullptr;
    if (kFault == Fault::unheard) channel = 0;
    if constexpr (kFault == Fault::stray) {
      std::uint32_t v = word_.load(relaxed);
      if (pred(v) || !word_.compare_exchange(v, v | kSleepers, relaxed)) return true;
      P::park(word_, v | kSleepers, 1u, deadline);
      word_.fetch_and(~kWriter, relaxed);  // it has woken up, so the writer must have left
      return true;
    } else {
      return W::until(word_, acquire, kSleepers, channel, deadline, pred);
    }
  }
  void leave(std::uint32_t what) noexcept {
    std::uint32_t v = word_.load(relaxed);
    const Order order = kFault == Fault::order ? relaxed : release;
    if constexpr (kFault == Fault::calls_two) {
      while (!word_.compare_exchange(v, v - what, order)) {}
      for (int i = 0; i < 2; ++i)
        W::wake_one(&word_, ~std::uint32_t{0});
    } else if constexpr (kFault == Fault::younger) {
      while (!word_.compare_exchange(v, v - what, order)) {}
      for (std::uint32_t channel = 1u << 3; channel != 0 && W::wake_one(&word_, channel) == 0;)
        channel >>= 1;
    } else {
      while (!word_.compare_exchange(v, (v - what) & ~kSleepers, order)) {}
      if (kFault != Fault::no_wake && (v & kSleepers) != 0) W::wake(&word_, ~std::uint32_t{0});
    }
  }

  typename P::template atomic<std::uint32_t> word_{};
  typename P::template atomic<std::uint32_t> arrivals_{};
  typename P::template atomic<std::uint32_t> used_{};
};

}  // namespace lockswap::explore
