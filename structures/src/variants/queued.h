// Reader-writer locks made of a word and a queue mutex: readers and writers wait in one queue, and
// its head waits for the word.
//
// Papers: J. Mellor-Crummey, M. Scott, "Scalable reader-writer synchronization for shared-memory
//   multiprocessors" (PPoPP 1991), the fair lock; the Linux kernel's rwsem as D. Dice and A. Kogan
//   describe it (BRAVO, USENIX ATC 2019, section 4).
// Idea: the word counts readers, and has a bit that closes it. A thread that can't get it at once
//   acquires the mutex, and so waits on its own node. At the head it waits for the word, takes it,
//   and lets the next one become the head. A writer closes the word first, and then waits until the
//   readers have left.
//
//                 readers queue   a writer takes a free lock ahead of the queue
//   FairQueue     yes             no
//   Rwsem         yes             yes, and spins for it before it queues
//   Gate          no              no; and it holds the mutex while it writes (bravo_passing.h)
//
// State (16 bytes, zero = free): the mutex; a word with
//   bit 0      kClosed: a writer has the lock, or is at the head and waits for readers
//   bit 1      kHeadSleeps: a thread sleeps until the word is open
//   bit 2      kDrainSleeps: the writer sleeps until the readers have left
//   bit 3      kHeadReads: the head of the queue is a reader, and the writer's release lets it in
//   bits 4..   readers
// Invariants: waiting threads hold the mutex, and under Gate alone also the thread that has the
//   lock. Once the word is closed, only its writer opens it. kHeadReads is set only while it is
//   closed.
// Fairness: FairQueue is first come, first served, and adjacent readers share. Under Rwsem running
//   writers go first, but a release lets in a reader that is at the head. Under Gate writers take
//   turns, and readers get in when the word is open.
// Space: 2^28 readers.
// Deviations: in Mellor-Crummey and Scott's lock a reader keeps its node in the queue while it
//   reads. POSIX lets any thread end a read hold, and lets a reader stop waiting, so here the node
//   is returned on entry, and readers are counted. A program can't see whether a lock's owner is
//   running, so Rwsem spins as the library's other locks do. The kernel's rwsem has its own list of
//   sleepers.
// Destroy is safe: the last access is the update in the release, and only a wake by address may
//   follow.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/concept.h"
#include "locks/mutex/mcs.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "wait/concept.h"

namespace lockswap::variants {

struct QueueRules {
  bool readers_queue = false;
  bool writers_steal = false;
  bool writers_keep_mutex = false;
};

template <Platform P, WaitPolicy<P> W, QueueRules kRules>
class QueuedRw {
 public:
  static constexpr Claims kClaims{.fifo_writers = !kRules.writers_steal};

  static bool prepare() noexcept { return Mcs<P, W>::prepare(); }

  // --- readers; read_wait does everything that takes time
  std::uint32_t read_arrive() noexcept {
    const bool waits = kStrict || (kRules.readers_queue && !queue_.idle());
    return !waits && enter() ? 0 : 1;
  }
  bool read_wait(std::uint32_t, const Deadline* deadline) noexcept {
    if constexpr (kRules.readers_queue) {
      if (!to_head(deadline)) return enter();  // the head may be about to leave
      const bool in = wait_at_head(deadline);
      queue_.unlock();
      return in;
    }
    return enter_when_open(deadline);
  }
  bool read_withdraw(std::uint32_t) noexcept { return true; }  // it is not counted
  bool try_read_lock() noexcept { return enter(); }            // a try does not queue
  void read_unlock() noexcept {
    std::uint32_t v = word_.load(relaxed), next;
    do {
      next = v - kReader;
      if (next < kReader) next &= ~kDrainSleeps;
      // release: the critical section; pairs with drain and with free writers' compare-exchange.
    } while (!word_.compare_exchange(v, next, release));
    if ((v & ~next & kDrainSleeps) != 0) wake(kDrainChannel);
  }

  // --- writers
  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    if ((!kStrict && enter_free()) || steals()) return;
    lock_writers();
    close(listener);
  }
  // The two steps of write_lock, for bravo_passing.h.
  void lock_writers() noexcept { queue_.lock(); }
  template <DrainListener L>
  void close(const L& listener) noexcept {
    close_and_drain(nullptr, listener);
    if constexpr (!kRules.writers_keep_mutex) queue_.unlock();
  }
  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (enter_free()) return true;
    if (!to_head(deadline)) return false;
    const bool in = close_and_drain(deadline, listener);
    if (!in || !kRules.writers_keep_mutex) queue_.unlock();
    return in;
  }
  bool try_write_lock() noexcept { return enter_free(); }
  void write_unlock() noexcept {
    // The next writer finds the word closed until the lock is released.
    if constexpr (kRules.writers_keep_mutex) queue_.unlock();
    open();
  }

  bool has_readers() const noexcept { return word_.load(relaxed) >= kReader; }  // a racy snapshot
  // acquire: pairs with open, because a thread that destroys the lock waits for this.
  bool has_writer() const noexcept {
    return (word_.load(acquire) & kClosed) != 0 || (!kRules.readers_queue && !queue_.idle());
  }
  bool too_many_readers() const noexcept { return word_.load(relaxed) >> 31 != 0; }
  bool idle() const noexcept { return is_free(word_.load(relaxed)) && queue_.idle(); }

  // --- in a forked child. relaxed: the fork handed on what other threads did.
  bool needs_no_repair(bool written) const noexcept {
    const std::uint32_t v = word_.load(relaxed);
    return (v & kFlags) == 0 && ((v & kClosed) != 0) == written &&
           queue_.needs_no_repair(written && kRules.writers_keep_mutex);
  }
  void repair_after_fork(bool written) noexcept {
    queue_.repair_after_fork(written && kRules.writers_keep_mutex);
    // One update, because read holds may end meanwhile, and a store would bring them back.
    word_.fetch_and(written ? ~kFlags : ~(kFlags | kClosed), relaxed);
  }

 private:
  // Nobody goes ahead of the queue, even if it seems to be empty, since that may be outdated.
  static constexpr bool kStrict = kRules.readers_queue && !kRules.writers_steal;
  static constexpr std::uint32_t kClosed = 1;
  static constexpr std::uint32_t kHeadSleeps = 2;
  static constexpr std::uint32_t kDrainSleeps = 4;
  static constexpr std::uint32_t kHeadReads = 8;
  static constexpr std::uint32_t kFlags = kHeadSleeps | kDrainSleeps | kHeadReads;
  static constexpr std::uint32_t kReader = 16;
  static constexpr std::uint32_t kHeadChannel = 1;
  static constexpr std::uint32_t kDrainChannel = 2;
  static bool is_open(std::uint32_t v) noexcept { return (v & kClosed) == 0; }
  static bool is_free(std::uint32_t v) noexcept { return (v & ~kFlags) == 0; }

  bool enter() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (is_open(v)) {
      if (word_.compare_exchange(v, v + kReader, acquire)) return true;  // pairs with open
    }
    return false;
  }
  bool enter_free() noexcept {
    if constexpr (!kRules.writers_keep_mutex) return take_free();
    if (!queue_.try_lock()) return false;
    if (take_free()) return true;
    queue_.unlock();
    return false;
  }
  bool take_free() noexcept {
    std::uint32_t v = word_.load(relaxed);
    while (is_free(v)) {
      // acquire: pairs with open, and with the readers' release.
      if (word_.compare_exchange(v, v | kClosed, acquire)) return true;
    }
    return false;
  }
  bool steals() noexcept {
    if constexpr (kRules.writers_steal) {
      typename P::Spins spins(&word_);
      while (spins.more()) {
        if (!enter_free()) continue;
        spins.succeeded();
        return true;
      }
    }
    return false;
  }

  bool to_head(const Deadline* deadline) noexcept {
    if (deadline != nullptr) return queue_.lock_until(deadline);
    queue_.lock();
    return true;
  }
  // Called by a reader at the head of the queue.
  bool wait_at_head(const Deadline* deadline) noexcept {
    std::uint32_t v = word_.load(relaxed);
    do {
      if (enter()) return true;
      v = word_.load(relaxed);
      // relaxed: the wait below acquires.
    } while (is_open(v) || !word_.compare_exchange(v, v | kHeadReads, relaxed));
    const auto is_in = [](std::uint32_t now) { return (now & kHeadReads) == 0; };
    // acquire: pairs with open.
    if (W::until(word_, acquire, kHeadSleeps, kHeadChannel, deadline, is_in)) return true;
    v = word_.load(acquire);  // if it has the lock after all, as above
    while (!is_in(v)) {
      // relaxed: the thread has read nothing under the lock.
      if (word_.compare_exchange(v, v & ~kHeadReads, relaxed)) return false;
      v = word_.load(acquire);
    }
    return true;
  }
  bool enter_when_open(const Deadline* deadline) noexcept {
    // relaxed: enter acquires.
    while (W::until(word_, relaxed, kHeadSleeps, kHeadChannel, deadline, is_open)) {
      if (enter()) return true;
    }
    return false;
  }
  // Called by the head of the queue. Returns false if the deadline has passed, and then the word is
  // open.
  template <DrainListener L>
  bool close_and_drain(const Deadline* deadline, const L& listener) noexcept {
    std::uint32_t v = word_.load(relaxed);
    // acquire: pairs with open. Others may take a free lock ahead of the head.
    while (!is_open(v) || !word_.compare_exchange(v, v | kClosed, acquire)) {
      if (!W::until(word_, relaxed, kHeadSleeps, kHeadChannel, deadline, is_open)) return false;
      v = word_.load(relaxed);
    }
    if (v < kReader) return true;
    listener.begin();
    const auto have_left = [](std::uint32_t now) { return now < kReader; };
    // acquire: the readers' critical sections; pairs with read_unlock.
    if (W::until(word_, acquire, kDrainSleeps, kDrainChannel, deadline, have_left)) return true;
    listener.gave_up();
    open();
    return false;
  }
  void open() noexcept {
    std::uint32_t v = word_.load(relaxed), next;
    do {
      next = (v & ~(kClosed | kFlags)) + ((v & kHeadReads) != 0 ? kReader : 0);
      // release: the critical section; pairs with the updates and the wait that take the word.
    } while (!word_.compare_exchange(v, next, release));
    if ((v & kHeadSleeps) != 0) wake(kHeadChannel);
  }
  void wake(std::uint32_t channel) noexcept {
    if constexpr (W::kParks) W::wake(&word_, channel);
  }

  Mcs<P, W> queue_{};
  typename P::template atomic<std::uint32_t> word_{};
};

template <Platform P, WaitPolicy<P> W>
using FairQueue = QueuedRw<P, W, QueueRules{.readers_queue = true}>;
template <Platform P, WaitPolicy<P> W>
using Rwsem = QueuedRw<P, W, QueueRules{.readers_queue = true, .writers_steal = true}>;
template <Platform P, WaitPolicy<P> W>
using Gate = QueuedRw<P, W, QueueRules{.writers_keep_mutex = true}>;

}  // namespace lockswap::variants
