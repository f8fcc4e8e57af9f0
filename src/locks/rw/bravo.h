// BRAVO: biased locking for reader-writer locks, over any underlying lock.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   section 3, listing 1.
// Idea: while a lock is biased towards readers, a reader does not touch it, but publishes the
//   lock's address in a slot of a table that all locks share. A writer takes the underlying lock,
//   revokes the bias, and waits until no slot names the lock. Then the bias is inhibited for N
//   times as long as the revocation took, so writers lose at most 1/(N+1) of their time.
// State: one word, "bias": bias_word.h, with a table of its states.
// Order: publishing and revoking are a Dekker pair; all four steps are seq_cst, or ordered by
//   Slots::heavy_fence:
//     reader  1. fill a slot            2. recheck the bias
//     writer  1. revoke the bias        2. scan the slots
//   Either the writer sees the slot, or the reader sees the change and backs out.
// Invariants: the bias is switched on only under the underlying read lock, so never while a writer
//   holds the lock. While one does, no slot names the lock, except for readers about to back out.
// Fairness: the underlying lock's, except that readers that published themselves before a writer
//   arrived go first. Later ones wait behind it if the underlying lock makes them.
// Space: 8 bytes per lock; one table per process, or a row per thread.
// Deviations: the inhibited time grows while the bias does not pay (BiasWord::inhibited). A reader
//   on the slow path reads the clock only sometimes (consider_bias), and only if other threads use
//   the lock too (Look). A writer that has to wait for slow readers suspends the bias before it
//   waits, not afterwards (write_lock). A reader's trylock tries the slots first, and a writer's
//   checks the slots before it disturbs any readers.
// Fork: slots stay in a child, as holds do. If the bias is in a state in which no slot may name the
//   lock, any slot that still names it belongs to a reader that was backing out, and
//   repair_after_fork() frees it.
// Destroy is safe: a fast reader's last access is to its slot, which is never freed.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "locks/rw/bias_word.h"
#include "locks/rw/bravo_biasing.h"
#include "locks/rw/bravo_revocation.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/concept.h"
#include "readers/readers_table.h"
#include "readers/table_slots.h"
#include "wait/concept.h"

namespace lockswap {

// Slots: where fast readers publish themselves. Bias: when slow readers switch the bias on.
template <Platform P, WaitPolicy<P> W, RwCore Core, EventCounter Count,
          ReaderSlots<RwFrame<P, Core>> Slots = TableSlots<P, W>, class Bias = InhibitedBias>
class Bravo {
  using Word = BiasWord;
  using Revocation = BravoRevocation<P, Core, typename Count::Slow, Slots>;
  using Biasing = typename Bias::template Biasing<P, Core, Revocation, Slots>;
  using Look = typename Biasing::Look;

 public:
  using Frame = RwFrame<P, Core>;
  template <EventCounter Other>
  using CountedBy = Bravo<P, W, Core, Other, Slots, Bias>;
  static constexpr bool kHasTokens = true;
  static constexpr bool kHasFast = true;
  static constexpr bool kHasWayBelow = OneUpdateReadCore<Core> || ReadIfFreeCore<Core>;
  // Writers take the underlying lock first. Readers in the table are not in its phases.
  static constexpr Claims kClaims{.fifo_writers = Core::kClaims.fifo_writers,
                                  .fcfs_writers = Core::kClaims.fcfs_writers,
                                  .sleepers_in_order = Core::kClaims.sleepers_in_order};
  // Same meaning as LockInfo::instructions. More if the underlying lock's token must be kept.
  static constexpr unsigned kInstructions = Slots::kHasHeavyFence          ? 93
                                            : ReadTokens<Core>::kHasTokens ? 70
                                                                           : 62;
  // Extra instructions per write lock, on top of the underlying lock's, while the bias is off.
  static constexpr unsigned kWriteInstructions = 5;

  static bool prepare() noexcept { return Core::prepare() && Slots::prepare(); }

  // The state of an acquisition. One of
  //   a token                for a fast hold, where its slot is; for a slow one, 0 or core_token()
  //   kBiasOff, kSuspended,  fast_read did not publish itself
  //   kCollision
  //   kRaced and a token     fast_read published itself in that slot, and must back out
  //   any other number       read_below, or slow_read, arrived at the underlying lock: what to wait
  //                          for there
  using Attempt = std::uint32_t;

  // The reader's half of the Dekker pair. Returns a token, or the attempt for slow_read.
  [[gnu::always_inline]] static Attempt fast_read(Frame& f) noexcept {
    // relaxed: a hint, the recheck decides.
    const std::uint64_t bias = f.bias.load(relaxed);
    if ((bias & Word::kOn) == 0) [[unlikely]]
      return (bias & Word::kSlotsInUse) == 0 ? kBiasOff : kSuspended;
    return recheck_bias(f, Slots::fill(f));
  }
  // Called after fast_read. While the bias is off, a reader goes straight to the underlying lock,
  // unless it is its turn to consider the bias. (Any reader may switch a suspended bias on again.)
  // Another thread can take the cache line away between the first load from the lock and the
  // update, so the code in between must be short, and the update should be a fetch-add rather than
  // a CAS, if the core has one. If the reader holds the lock, its token is 0. If it has arrived at
  // the core, read_wait or read_withdraw continues.
  [[gnu::always_inline]] static Below read_below(Frame& f, Attempt& a) noexcept {
    if constexpr (kHasWayBelow) {
      if (a != kBiasOff || Biasing::is_turn_next()) return Below::nothing;
      if constexpr (OneUpdateReadCore<Core>) {
        a = f.core.read_arrive();
        Count::on(&f, Event::slow_read_bias_off);
        if (!Reads::is_in(a)) [[unlikely]]
          return Below::arrived;
      } else {
        if (!f.core.read_if_free()) return Below::nothing;
        Count::on(&f, Event::slow_read_bias_off);
      }
      Biasing::pass_turn();
      Count::on(&f, Event::read);
      return Below::in;
    }
    return Below::nothing;
  }
  static constexpr bool is_in(Attempt a) noexcept { return a < kBiasOff; }
  static constexpr std::uint32_t token_of(Attempt a) noexcept { return a; }

  // Returns true if the thread holds the lock; the attempt is then its token. Otherwise go on with
  // read_wait or with read_withdraw.
  static bool slow_read(Frame& f, Attempt& a) noexcept {
    if (a == kCollision) a = recheck_bias(f, Slots::fill_elsewhere(f));
    if (is_in(a)) return true;
    const Event why = a == kCollision ? Event::slow_read_collision : Event::slow_read_bias_off;
    if (a >= kRaced && stays(f)) {
      a &= ~kRaced;
      count_fast(f);
      return true;
    }
    if (a >= kRaced && !vacate(f, a & ~kRaced)) {
      // Another thread released a hold that was not its own, and freed this slot by mistake. The
      // hold that it meant to free is still there, so this reader inherits that one.
      a = 0;
      Count::on(&f, Event::read);
      Count::on(&f, why);
      return true;
    }
    const Look look = Biasing::kArrivesLater ? Look::none : Biasing::look_around(f);
    a = f.core.read_arrive();
    Count::on(&f, why);
    if (!Reads::is_in(a)) return false;
    a = core_token(a);
    arrived(f, look);
    return true;
  }
  static bool read_wait(Frame& f, Attempt& a, const Deadline* deadline) noexcept {
    // A reader that has to wait has met a writer.
    const Look look = Biasing::kArrivesLater ? Biasing::look_around(f)
                      : Biasing::is_turn()   ? Look::met
                                             : Look::none;
    if (!Reads::wait(f.core, a, deadline)) return false;
    a = core_token(a);
    // The writer this reader waited for has revoked the bias, so it is not suspended (unless the
    // writer timed out). So most readers skip the word, whose cache line is contended.
    if (look == Look::none) {
      Count::on(&f, Event::read);
    } else {
      arrived(f, look);
    }
    return true;
  }
  static bool read_withdraw(Frame& f, Attempt& a) noexcept {
    if (Reads::withdraw(f.core, a)) return true;
    a = core_token(a);
    arrived(f, Biasing::is_turn() ? Look::met : Look::none);
    return false;
  }
  static bool try_read_lock(Frame& f, std::uint32_t& token) noexcept {
    Attempt a = fast_read(f);
    if (a == kCollision) a = recheck_bias(f, Slots::fill_elsewhere(f));
    if (a >= kRaced && stays(f)) {
      a &= ~kRaced;
      count_fast(f);
    }
    if (is_in(a)) {
      token = token_of(a);
      return true;
    }
    token = 0;
    if (a >= kRaced && !vacate(f, a & ~kRaced)) {  // this reader inherits a hold: see slow_read
      Count::on(&f, Event::read);
    } else if (const Look look = Biasing::look_around(f); Reads::try_lock(f.core, token)) {
      token = core_token(token);
      arrived(f, look);
    } else {
      return false;
    }
    Count::on(&f, a == kCollision ? Event::slow_read_collision : Event::slow_read_bias_off);
    return true;
  }

  // If it returns false, go on with slow_read_unlock.
  [[gnu::always_inline]] static bool fast_read_unlock(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) [[unlikely]]
      return Reads::unlock(f.core, token & ~kCoreToken);
    return Slots::fast_vacate(f, token, [&f] { return has_ended(f); });
  }
  // Returns false if another thread has released the hold that the token stands for.
  static bool slow_read_unlock(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) return Reads::unlock(f.core, token & ~kCoreToken);
    return vacate(f, token);
  }

  // For releases without a token. Ends the bias for good, and releases one fast hold, whichever
  // thread's it is. Returns false if there is none, after which there never will be one.
  static bool release_any_slot(Frame& f) noexcept {
    if (!Revocation::end_bias(f)) return false;
    if (Slots::vacate_any(f)) return true;
    std::uint64_t ending = Word::kEnded | Word::kSlotsInUse;
    // release: republishes what vacate_any acquired; pairs with may_have_fast_readers.
    f.bias.compare_exchange(ending, Word::kEnded, release);
    return false;
  }

  // Returns `arrived` if this writer has the underlying lock but fast readers may remain; then
  // go_on_writing continues.
  [[gnu::always_inline]] static Below fast_write(Frame& f) noexcept {
    if constexpr (FastWriteCore<Core>) {
      if (f.core.fast_write_lock()) return may_have_fast_readers(f) ? Below::arrived : Below::in;
    }
    return Below::nothing;
  }
  template <DrainListener L>
  static void go_on_writing(Frame& f, const L& listener) noexcept {
    take_bias(f, nullptr, Revocation::kWait, listener);
  }
  template <DrainListener L>
  static void write_lock(Frame& f, const L& listener) noexcept {
    if constexpr (TellsOfDrains<Core>) {
      f.core.write_lock(typename Revocation::template Suspends<L>{f, listener});
    } else {
      f.core.write_lock();
    }
    take_bias(f, nullptr, Revocation::kWait, listener);
  }
  template <DrainListener L>
  static bool write_lock_until(Frame& f, const Deadline* deadline, const L& listener) noexcept {
    if (try_write_lock(f)) return true;
    if (P::passed(*deadline)) return false;  // it would turn readers back for nothing
    if constexpr (TellsOfDrains<Core>) {
      if (!f.core.write_lock_until(deadline, listener)) return false;
    } else {
      if (!f.core.write_lock_until(deadline)) return false;
    }
    if (take_bias(f, deadline, Revocation::kWait, listener)) return true;
    listener.gave_up();
    f.core.write_unlock();
    return false;
  }
  static bool try_write_lock(Frame& f) noexcept {
    // Check before disturbing readers: one in the table is reason enough to fail.
    if (may_have_fast_readers(f) && Slots::is_any(f)) return false;
    if (!f.core.try_write_lock()) return false;
    if (take_bias(f, nullptr, Revocation::kTry, NobodyListens{})) return true;
    f.core.write_unlock();
    return false;
  }

  // Returns whether a release without a token has ended the bias, after which such releases may
  // take any hold. relaxed: the program, or a fence, already makes it visible to every thread that
  // needs it.
  static bool has_ended(const Frame& f) noexcept {
    return (f.bias.load(relaxed) & Word::kEnded) != 0;
  }
  // For tests.
  static bool has_fast_readers(const Frame& f) noexcept { return Slots::is_any(f); }

  static bool may_have_fast_readers(Frame& f) noexcept {
    // A writer cannot miss that the bias is on: the reader that switched it on held the underlying
    // lock before this writer. acquire: without kSlotsInUse, pairs with release_any_slot.
    return (f.bias.load(acquire) & Word::kSlotsInUse) != 0;
  }

  // After a fork: see rw_adoption.h.
  static bool needs_no_repair(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);  // all relaxed: fork() orders it
    if (bias == Word::kStarting || (bias & Word::kTrying) != 0 ||
        (Word::has_been_on(bias) && (bias & Word::kSlotsInUse) == 0 && Slots::is_any(f))) {
      return false;
    }
    return f.core.needs_no_repair(written);
  }
  static void repair_after_fork(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);
    if (bias == Word::kStarting) f.bias.store(0, relaxed);  // to be started again
    if ((bias & Word::kTrying) != 0) f.bias.store(bias & ~Word::kTrying, relaxed);
    if (Word::has_been_on(bias) && (bias & Word::kSlotsInUse) == 0) Slots::drop(f);
    f.core.repair_after_fork(written);
  }

 private:
  static constexpr std::uint32_t kMostSlots = 1u << 20;
  static constexpr std::uint32_t kCoreToken = 1u << 29;  // with a token of the core's
  static constexpr Attempt kBiasOff = 1u << 30;
  static constexpr Attempt kCollision = kBiasOff + 1;
  static constexpr Attempt kSuspended = kBiasOff + 2;
  static constexpr Attempt kRaced = 1u << 31;  // with the token of the slot that was published

  using Reads = ReadTokens<Core>;
  static_assert(kMostSlots < kCoreToken && kMustWait <= kCoreToken);
  static constexpr std::uint32_t core_token(std::uint32_t token) noexcept {
    return Reads::kHasTokens ? token | kCoreToken : 0;
  }
  static constexpr bool is_slow(std::uint32_t token) noexcept {
    return token == 0 || (Reads::kHasTokens && token >= kCoreToken);
  }

  // Called by a writer that has the underlying lock. Returns whether no reader has a slot any more
  // and the bias is off.
  template <DrainListener L>
  static bool take_bias(Frame& f, const Deadline* deadline, bool only_try, const L& l) noexcept {
    if (may_have_fast_readers(f) && !Revocation::revoke(f, deadline, only_try, [&l] { l.begin(); }))
      return false;
    P::check([&f] { return (f.bias.load(relaxed) & (Word::kOn | Word::kTrying)) == 0; });
    return true;
  }

  // Called after publishing, with 0 if there was no free slot. Returns an attempt.
  [[gnu::always_inline]] static Attempt recheck_bias(Frame& f, Attempt token) noexcept {
    if (token == 0) [[unlikely]]
      return kCollision;
    // The Dekker pair with revoke and end_bias. As an acquire it pairs with the release in
    // consider_bias, so that earlier writers' critical sections are visible.
    if ((f.bias.load(Slots::kLook) & Word::kOn) == 0) [[unlikely]]
      return kRaced | token;
    count_fast(f);
    if (token > kMostSlots) __builtin_unreachable();  // lets the compiler drop is_in()
    return token;
  }

  static void count_fast(Frame& f) noexcept {
    Count::on(&f, Event::read);
    Count::on(&f, Event::fast_read);
  }
  // Called by a reader that holds the underlying lock.
  static void arrived(Frame& f, Look look) noexcept {
    Count::on(&f, Event::read);
    Biasing::consider_bias(f, look);
  }
  // Called after kRaced. Returns whether the reader keeps its slot and holds the lock, because the
  // writer that took the bias away is in a trylock and undecided.
  [[gnu::noinline]] static bool stays(Frame& f) noexcept {
    Revocation::check_bias(f);
    std::uint64_t bias = f.bias.load(Slots::kLook);  // as in recheck_bias
    while ((bias & Word::kOn) == 0) {
      if ((bias & Word::kTrying) == 0) return false;
      // seq_cst: pairs as the load above does, also with the next writer's scan.
      if (f.bias.compare_exchange(bias, (bias & ~Word::kTrying) | Word::kOn, seq_cst)) return true;
      bias = f.bias.load(Slots::kLook);
    }
    return true;
  }

  static bool vacate(const Frame& f, std::uint32_t token) noexcept {
    return Slots::vacate(f, token, [&f] { return has_ended(f); });
  }
};

}  // namespace lockswap
