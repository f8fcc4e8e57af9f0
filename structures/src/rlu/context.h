// A thread's data in the RLU library.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, "Thread".
// State: the thread's row (rlu/clock_rows.h), with the time that its section uses; the time at
//   which its commits take effect (write_clock); two write-logs; and a word that says which thread
//   may use the logs:
//     kFree     nobody
//     kOwner    the thread itself, from its first lock in a section to the end of the commit
//     kHelper   another thread, which writes back the thread's deferred commits
// Invariants: only that thread changes the logs and their descriptions. No thread waits in a
//   section for a reader or for the word, except with a writer lock, when the word's user waits for
//   nobody. In log(), committed sections come before the present one.
// Space: a context is mapped once and stays. A thread that ends leaves it to another one.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/clock_rows.h"
#include "rlu/watch.h"
#include "rlu/write_log.h"

namespace lockswap::rlu {

// What lockswap_rlu_get_counts adds up. Only the context's thread increments these, except that the
// user of the logs sets `log_bytes`.
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
    kWriting = 1,    // the section has locked or freed something, or tried
    kCallbacks = 2,  // callbacks must be taken care of
    kLeased = 4,     // no exit hook: returned at the end of the section
    kNamed = 8,      // the section has set its limit of deferral
    kWatched = 16,   // `watch` has what the section has read
  };

  // A thread checks at every kFences-th fence whether fences are still needed.
  static constexpr std::uint32_t kFences = 1024;

  // --- read by readers in other threads
  typename P::template atomic<std::uint64_t> write_clock{};  // 0: the log has nothing to read

  // --- for the thread alone: its section
  alignas(64) std::uint64_t clock = 0;  // the time that the section uses
  std::uint32_t depth = 0;              // the nesting depth
  std::uint32_t duties = 0;             // the flags above, for its end
  std::uint64_t section = 0;            // number of the last section that locked something
  Context* conflict = nullptr;          // a lock failed because of this one
  bool no_memory = false;               // or for lack of memory
  bool in_callback = false;
  std::uint32_t limit = 0;         // limit of deferral set by the section; 0: none
  std::uint32_t writer_locks = 0;  // number of writer locks held
  std::uint32_t callbacks = 0;     // number added since it last ran callbacks
  std::uint32_t fences = 0;        // number of fences that its sections have run
  Watch* watch = nullptr;          // in programs compiled with checks
  Tallies<P> tallies;

  // --- for the thread that `user` names
  typename P::template atomic<std::uint32_t> user{};
  // Another thread wants an object that is locked. Any thread may set it; the next commit acts on
  // it.
  typename P::template atomic<std::uint32_t> wanted{};
  Log logs[2];
  int active = 0;
  std::uint32_t deferred = 0;  // commits in log() that have not taken effect
  bool freeing = false;        // all of log() is written back and unlocked

  // For P::check of a context without a thread: returns whether the last thread has left nothing. A
  // late helper may still look, and finds nothing to do.
  bool is_at_rest() const noexcept {
    return depth == 0 && writer_locks == 0 && !in_callback && conflict == nullptr && !no_memory &&
           deferred == 0 && user.load(relaxed) != kOwner;
  }

  Log& log() noexcept { return logs[active]; }
  Log& other_log() noexcept { return logs[1 - active]; }

  bool try_use(std::uint32_t as) noexcept {
    std::uint32_t free = kFree;
    // relaxed: a hint. acquire: the logs; pairs with leave.
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
