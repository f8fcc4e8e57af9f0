// What belongs to a thread of the RLU library.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Thread".
// State: the thread's row (rlu/clock_rows.h), with the clock that its section goes by; the time
//   at which what it has committed takes effect (write_clock); two write-logs; and a word that says
//   which thread may use the logs:
//     kFree     nobody
//     kOwner    the thread itself, from its first lock in a section to the end of the commit
//     kHelper   another one, which writes back what the thread has deferred
// Invariants: the logs and what is said of them change only in the hands of that thread. Nobody
//   waits for a reader in a section, or for the word, but with a writer lock, when what uses it
//   waits for nobody. The committed sections of log() come before
//   the section that is going on.
// Space: a context is mapped, and stays; a thread that ends leaves it to another one.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/clock_rows.h"
#include "rlu/watch.h"
#include "rlu/write_log.h"

namespace lockswap::rlu {

// What lockswap_rlu_get_counts sums up. Raised by the context's thread alone; `log_bytes` is set by
// the one that uses the logs.
template <Platform P>
struct Tallies {
  using Tally = typename P::tally;
  Tally commits, aborts, syncs, helps, synchronizes, wait_loops, locks, sync_requests, reads,
      steals, write_backs, log_bytes;
};

template <Platform P>
struct Context : ClockRow<P> {
  using Log = WriteLog<P, Context>;
  enum : std::uint32_t { kFree, kOwner, kHelper };
  enum : std::uint32_t {
    kWriting = 1,    // the section has locked or freed something, or tried to
    kCallbacks = 2,  // callbacks are to be looked after
    kLeased = 4,     // no exit hook could be had: it is given back when the section ends
    kNamed = 8,      // the section has said how far its commit may be deferred
    kWatched = 16,   // `watch` knows what the section has read
  };

  static constexpr std::uint32_t kFences = 1024;  // of so many, one looks whether they are needed

  // --- for readers of other threads
  typename P::template atomic<std::uint64_t> write_clock{};  // 0: nothing can be read from the log

  // --- of the thread alone: its section
  alignas(64) std::uint64_t clock = 0;  // that the section goes by
  std::uint32_t depth = 0;              // how many sections are nested
  std::uint32_t duties = 0;             // at its end: the flags above
  std::uint64_t section = 0;    // the number of the newest section that has locked something
  Context* conflict = nullptr;  // a lock failed: this one has the object
  bool no_memory = false;       // or there was none
  bool in_callback = false;
  std::uint32_t limit = 0;         // of deferral, as the section has said; 0: it has not
  std::uint32_t writer_locks = 0;  // that the thread has
  std::uint32_t callbacks = 0;     // that it has given since it last looked after them
  std::uint32_t fences = 0;        // that its sections have had
  Watch* watch = nullptr;          // in programs that are compiled to be checked
  Tallies<P> tallies;

  // --- of the thread that `user` names
  typename P::template atomic<std::uint32_t> user{};
  // Another thread wants an object that is locked. Set by any thread; for the next commit.
  typename P::template atomic<std::uint32_t> wanted{};
  Log logs[2];
  int active = 0;
  std::uint32_t deferred = 0;  // commits in log() that have not taken effect
  bool freeing = false;        // all of log() is written back and unlocked

  // For P::check, of a context that no thread has: nothing is left of the thread before. A helper
  // that was late may still look, and finds nothing to do.
  bool is_at_rest() const noexcept {
    return depth == 0 && writer_locks == 0 && !in_callback && conflict == nullptr && !no_memory &&
           deferred == 0 && user.load(relaxed) != kOwner;
  }

  Log& log() noexcept { return logs[active]; }
  Log& other_log() noexcept { return logs[1 - active]; }

  bool try_use(std::uint32_t as) noexcept {
    std::uint32_t free = kFree;
    // relaxed: a hint. acquire: pairs with leave: the logs.
    return user.load(relaxed) == kFree && user.compare_exchange(free, as, acquire);
  }
  void use(std::uint32_t as) noexcept {
    while (!try_use(as))
      wait_until_free();
  }
  void wait_until_free() const noexcept {
    // relaxed: try_use acquires.
    P::await(Pause::nap, user, relaxed, [](std::uint32_t u) { return u == kFree; });
  }
  void leave() noexcept {
    P::check([this] { return user.load(relaxed) != kFree; });
    user.store(kFree, release);  // pairs with try_use
  }
};

}  // namespace lockswap::rlu
