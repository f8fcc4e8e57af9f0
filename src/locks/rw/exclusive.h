// exclusive: a mutex in the shape of an rwlock. Readers exclude each other, too.
//
// Paper: none; the mutex is that of U. Drepper, "Futexes are tricky" (2011), section 6: a word that
//   says whether a thread may be asleep, and a release that wakes one.
// Idea: it shows what a program gains from an rwlock at all. Readers and writers take one word in
//   the same way, except that a reader never hangs where it would enter under glibc's lock.
// State (4 bytes, zero = free): bit 0 a writer; bit 1 a thread may be asleep; bits 2.. readers.
// Invariants: the writer's bit and a count are never both set. The count exceeds one only if
//   readers entered next to others (see Fairness). If a thread sleeps, kSleepers is set or a woken
//   thread is about to set it, because a thread that has waited takes the lock with that bit.
// Fairness: none; a running thread takes a free lock. A reader enters next to other readers when
//   its patience is over or its deadline has passed, since the reader inside may be waiting for it.
//   A trylock does so at once, since it cannot wait. So readers that overlap in this way may keep
//   writers out, as under glibc's default.
// Space: 2^30 readers.
// Deviations: the count, and readers that enter next to others.
// Destroy is safe: the last access is the RMW of the release; a wake by address may follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, LineWaitPolicy<P> W>
class Exclusive {
 public:
  static constexpr Claims kClaims{.readers_exclude = true};
  static constexpr LockInfo kInfo{
      .summary = "a mutex in place of the rwlock: readers exclude each other, too",
      .source = "the mutex of Drepper, Futexes are tricky, 2011",
      .fairness = "none; a reader shares only when its patience among readers is over",
      .kinds = "no effect",
      .readers_overtake = true,
      .writers_can_starve = true,
      .barges = true,
      .instructions = 60,
  };

  static bool prepare() noexcept { return true; }

  std::uint32_t read_arrive() noexcept { return take(kReader) ? 0 : 1; }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    return take_slowly(kReader, deadline) || join_readers();
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }  // it is not counted in
  bool try_read_lock() noexcept { return take(kReader) || join_readers(); }
  void read_unlock() noexcept {
    std::uint32_t v = word_.load(relaxed), next;
    do {
      next = v - kReader;
      if (nobody(next)) next = 0;
      // release: the critical section; pairs with take, take_slowly and join_readers.
    } while (!word_.compare_exchange(v, next, release));
    wake(v, next);
  }

  void write_lock() noexcept {
    if (!take(kWriter)) take_slowly(kWriter, nullptr);
  }
  bool write_lock_until(const Deadline* deadline) noexcept {
    return take(kWriter) || take_slowly(kWriter, deadline);
  }
  bool try_write_lock() noexcept { return take(kWriter); }
  void write_unlock() noexcept {
    wake(word_.exchange(0, release), 0);  // release: the critical section; pairs as read_unlock's
  }

  bool has_readers() const noexcept { return word_.load(relaxed) >= kReader; }  // a racy snapshot
  // acquire: pairs with write_unlock; a thread that destroys the lock waits by this.
  bool has_writer() const noexcept { return (word_.load(acquire) & kWriter) != 0; }
  bool too_many_readers() const noexcept { return word_.load(relaxed) >> 31 != 0; }
  bool idle() const noexcept { return nobody(word_.load(relaxed)); }

  // Called in a forked child. relaxed: fork() orders what threads did.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint32_t v = word_.load(relaxed);
    return (v & kSleepers) == 0 && ((v & kWriter) != 0) == written;
  }
  void repair_after_fork(bool written) noexcept {
    // One RMW: read holds may end meanwhile, and a store would bring them back.
    word_.fetch_and(written ? ~kSleepers : ~(kSleepers | kWriter), relaxed);
  }

 private:
  static constexpr std::uint32_t kWriter = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kReader = 4;
  static constexpr std::uint32_t kChannel = 1;
  static bool nobody(std::uint32_t v) noexcept { return (v & ~kSleepers) == 0; }

  // `hold` is kReader or kWriter.
  bool take(std::uint32_t hold) noexcept {
    std::uint32_t v = 0;
    while (nobody(v)) {
      // acquire: pairs with both releases. A flag that is set stays.
      if (word_.compare_exchange(v, v | hold, acquire)) return true;
    }
    return false;
  }
  [[gnu::noinline]] bool take_slowly(std::uint32_t hold, const Deadline* deadline) noexcept {
    Deadline point{}, room{};
    const Deadline* until = deadline;
    if (deadline != nullptr && deadline->patience != 0) {
      point = P::due(*deadline);  // one for all rounds
      until = &point;
    }
    // relaxed: the compare-exchange acquires.
    while (W::until(word_, relaxed, kSleepers, kChannel, until, nobody)) {
      std::uint32_t v = word_.load(relaxed);
      while (nobody(v)) {
        // Sets the flag again, because the release that woke this thread cleared it, and others may
        // stay asleep.
        const std::uint32_t flag = W::kParks ? kSleepers : 0;
        // acquire: pairs with both releases.
        if (word_.compare_exchange(v, hold | flag, acquire)) return true;
      }
      if (as_at_first(deadline, room)) point = P::due(*deadline);
    }
    return false;
  }
  bool join_readers() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (v >= kReader || v == 0 || v == kSleepers) {
      // acquire: pairs with the last writer's release; readers' RMWs continue its sequence.
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;
    }
    return false;
  }
  void wake(std::uint32_t before, std::uint32_t now) noexcept {
    if constexpr (W::kParks) {
      if ((before & ~now & kSleepers) != 0) W::wake_one(&word_, kChannel);
    }
  }

  typename P::template atomic<std::uint32_t> word_{};
};

}  // namespace lockswap
