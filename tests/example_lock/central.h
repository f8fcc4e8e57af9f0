// central: the textbook's rwlock, a count of readers and a bit for a writer in one word.
// It is not shipped: test_adding_a_lock.py adds it to a copy of the tree, as CONTRIBUTING.md says.
//
// Paper: none; the "simple reader-writer lock" of textbooks.
// Idea: a reader counts itself in unless a writer is in; a writer sets its bit if nobody is in.
// State (4 bytes, zero = free): bit 0 a writer is in; bit 1 somebody may sleep; bits 2.. readers.
// Invariants: the writer's bit and a count never stand together.
// Fairness: none: readers that come in turn keep writers out.
// Space: 2^30 readers.
// Deviations: the bit for sleepers; the release that leaves nobody in takes it away and wakes all.
// Fork: in a child nobody sleeps, and a writer that is gone loses its bit; the count stays.
// Destroy is safe: the last access is the update of the release; a wake by address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Central {
 public:
  static constexpr Claims kClaims{};
  static constexpr LockInfo kInfo{
      .summary = "a count of readers and a bit for a writer in one word",
      .source = "textbooks",
      .fairness = "none; writers can starve",
      .kinds = "no effect",
      .readers_overtake = true,
      .writers_can_starve = true,
      .aliases = {"textbook"},
      .instructions = 60,
  };

  static bool prepare() noexcept { return true; }

  std::uint32_t read_arrive() noexcept { return try_read_lock() ? 0 : 1; }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    // relaxed: try_read_lock acquires.
    while (W::until(word_, relaxed, kSleepers, kChannel, deadline, no_writer)) {
      if (try_read_lock()) return true;
    }
    return false;
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }  // it is not counted in
  bool try_read_lock() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (no_writer(v)) {
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;  // pairs with write_unlock
    }
    return false;
  }
  void read_unlock() noexcept {
    std::uint32_t v = word_.load(relaxed), next;
    do {
      next = v - kReader;
      if (nobody(next)) next = 0;
      // release: the critical section; pairs with try_write_lock.
    } while (!word_.compare_exchange(v, next, release));
    wake(v, next);
  }

  void write_lock() noexcept {
    if (!try_write_lock()) lock_slowly(nullptr);
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    return try_write_lock() || lock_slowly(deadline);
  }
  bool try_write_lock() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (nobody(v)) {
      // acquire: pairs with both releases.
      if (word_.compare_exchange(v, v | kWriter, acquire)) return true;
    }
    return false;
  }
  void write_unlock() noexcept {
    wake(word_.exchange(0, release), 0);  // release: the critical section
  }

  // acquire: pairs with both releases. CONTRIBUTING.md says why it stays though `mutate` finds no
  // failure without it.
  bool has_readers() const noexcept { return word_.load(acquire) >= kReader; }
  bool has_writer() const noexcept { return !no_writer(word_.load(acquire)); }
  bool too_many_readers() const noexcept { return word_.load(relaxed) >> 31 != 0; }
  bool idle() const noexcept { return nobody(word_.load(relaxed)); }

  // In a forked child. relaxed: the fork handed on what threads did.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint32_t v = word_.load(relaxed);
    return (v & kSleepers) == 0 && no_writer(v) == !written;
  }
  void repair_after_fork(bool written) noexcept {
    // One update: read holds may end meanwhile, and a store would bring them back.
    word_.fetch_and(written ? ~kSleepers : ~(kSleepers | kWriter), relaxed);
  }

 private:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kReader = 4;
  static constexpr std::uint32_t kChannel = 1;
  static bool no_writer(std::uint32_t v) noexcept { return (v & kWriter) == 0; }
  static bool nobody(std::uint32_t v) noexcept { return (v & ~kSleepers) == 0; }

  bool lock_slowly(const Deadline* deadline) noexcept {
    while (W::until(word_, relaxed, kSleepers, kChannel, deadline, nobody)) {
      if (try_write_lock()) return true;
    }
    return false;
  }
  void wake(std::uint32_t before, std::uint32_t now) noexcept {
    if (W::kParks && (before & ~now & kSleepers) != 0) W::wake(&word_, kChannel);
  }

  typename P::template atomic<std::uint32_t> word_{};
};

}  // namespace lockswap
