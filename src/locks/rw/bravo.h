// BRAVO: biased locking for reader-writer locks, over any underlying lock.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   section 3, listing 1.
// Idea: while a lock is biased towards readers, a reader does not touch it: it publishes the lock's
//   address in a slot of a table that all locks share. A writer takes the underlying lock, then
//   revokes the bias and waits until no slot names the lock. N times as long as that took, the bias
//   is inhibited, so that writers lose at most 1/(N+1) of their time.
// State: one word, "bias": bias_word.h, with a table of its states.
// Order: publishing and revoking are a Dekker pair; all four steps are seq_cst, or ordered by
//   Slots::heavy_fence:
//     reader  1. fill a slot            2. recheck the bias
//     writer  1. take the bias away     2. scan the slots
//   Either the writer sees the slot, or the reader sees the change and backs out.
// Invariants: the bias is switched on only under the underlying read lock, so never while a writer
//   owns. While a writer owns, no slot names the lock, but for readers that are about to back out.
// Fairness: the underlying lock's; but readers that published themselves before a writer came go
//   first. Readers that come after it wait behind it, if the underlying lock has them do so.
// Space: 8 bytes a lock; one table a process, or a row a thread.
// Deviations: the inhibited time grows while the bias does not pay: see BiasWord::inhibited.
//   Readers on the slow path do not each read the clock: see consider_bias. Only a thread that has
//   met another one reads it at all: see Look.
//   A writer that has to wait for such readers suspends the bias before, not after: see write_lock.
//   Try forms: readers try the slots first; a writer looks at the slots before it disturbs anybody.
// Fork: in a child, slots stay, as holds do. While no slot may name the lock, those that do are of
//   readers that were about to back out: repair_after_fork() frees them.
// Destroy is safe: a fast reader's last access is to its slot, which is never freed.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "locks/rw/bias_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/concept.h"
#include "readers/readers_table.h"
#include "readers/table_slots.h"
#include "wait/concept.h"

namespace lockswap {

// Slots: where fast readers publish themselves.
template <Platform P, WaitPolicy<P> W, RwCore Core, EventCounter Count,
          ReaderSlots<RwFrame<P, Core>> Slots = TableSlots<P, W>>
class Bravo {
 public:
  using Frame = RwFrame<P, Core>;
  static constexpr bool kHasTokens = true;
  // Writers take the underlying lock first. Readers in the table are not in its phases.
  static constexpr Claims kClaims{.fifo_writers = Core::kClaims.fifo_writers};
  // As LockInfo's. The lock below adds a token to keep.
  static constexpr unsigned kInstructions = Slots::kHasHeavyFence          ? 92
                                            : ReadTokens<Core>::kHasTokens ? 70
                                                                           : 60;

  static bool prepare() noexcept { return Core::prepare() && Slots::prepare(); }

  // What an acquisition has come to, one of
  //   a token                of a fast hold: where its slot is. Of a slow hold: 0, or core_token()
  //   kBiasOff, kCollision   fast_read did not publish itself
  //   kRaced and a token     fast_read published itself in that slot, and must back out
  //   any other number       slow_read arrived at the underlying lock: what to wait for there
  using Attempt = std::uint32_t;

  // The reader's half of the Dekker pair. A token, or the attempt for slow_read.
  [[gnu::always_inline]] static Attempt fast_read(Frame& f) noexcept {
    // relaxed: a hint, the recheck decides.
    if ((f.bias.load(relaxed) & kOn) == 0) [[unlikely]]
      return kBiasOff;
    return recheck_bias(f, Slots::fill(f));
  }
  static constexpr bool is_in(Attempt a) noexcept { return a < kBiasOff; }
  static constexpr std::uint32_t token_of(Attempt a) noexcept { return a; }

  // True: the thread holds the lock, and the attempt is its token. False: go on with read_wait, or
  // with read_withdraw.
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
      // Another thread, which released a hold that was not its own, took this slot for it. So the
      // hold that it meant to release is still there, and is this reader's now.
      a = 0;
      Count::on(&f, Event::read);
      Count::on(&f, why);
      return true;
    }
    const Look look = kArrivesLater ? Look::none : look_around(f);
    a = f.core.read_arrive();
    Count::on(&f, why);
    if (!Reads::is_in(a)) return false;
    a = core_token(a);
    consider_bias(f, look);
    return true;
  }
  static bool read_wait(Frame& f, Attempt& a, const Deadline* deadline) noexcept {
    // A reader that has to wait has met a writer.
    const Look look = kArrivesLater ? look_around(f) : is_turn() ? Look::met : Look::none;
    if (!Reads::wait(f.core, a, deadline)) return false;
    a = core_token(a);
    consider_bias(f, look);
    return true;
  }
  static bool read_withdraw(Frame& f, Attempt& a) noexcept {
    if (Reads::withdraw(f.core, a)) return true;
    a = core_token(a);
    consider_bias(f, is_turn() ? Look::met : Look::none);
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
    if (a >= kRaced && !vacate(f, a & ~kRaced)) {  // a hold is this reader's now: see slow_read
      Count::on(&f, Event::read);
    } else if (const Look look = look_around(f); Reads::try_lock(f.core, token)) {
      token = core_token(token);
      consider_bias(f, look);
    } else {
      return false;
    }
    Count::on(&f, a == kCollision ? Event::slow_read_collision : Event::slow_read_bias_off);
    return true;
  }

  // False: go on with slow_read_unlock.
  [[gnu::always_inline]] static bool fast_read_unlock(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) [[unlikely]]
      return Reads::unlock(f.core, token & ~kCoreToken);
    return Slots::fast_vacate(f, token, [&f] { return has_ended(f); });
  }
  // False: another thread has released the hold that the token stands for.
  static bool slow_read_unlock(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) return Reads::unlock(f.core, token & ~kCoreToken);
    return vacate(f, token);
  }

  // For releases without a token: ends the bias for good, and releases one fast hold, of whichever
  // thread. False: there is none, and there will be none.
  static bool release_any_slot(Frame& f) noexcept {
    if (!end_bias(f)) return false;
    if (Slots::vacate_any(f)) return true;
    std::uint64_t ending = kEnded | kSlotsInUse;
    // release: hands on the readers that were acquired just now; pairs with may_have_fast_readers.
    f.bias.compare_exchange(ending, kEnded, release);
    return false;
  }

  template <DrainListener L>
  static void write_lock(Frame& f, const L& listener) noexcept {
    if constexpr (TellsOfDrains<Core>) {
      f.core.write_lock(Suspends<L>{f, listener});
    } else {
      f.core.write_lock();
    }
    if (may_have_fast_readers(f)) revoke(f, nullptr, kWait, listener);
  }
  template <DrainListener L>
  static bool write_lock_until(Frame& f, const Deadline* deadline, const L& listener) noexcept {
    if constexpr (TellsOfDrains<Core>) {
      if (!f.core.write_lock_until(deadline, listener)) return false;
    } else {
      if (!f.core.write_lock_until(deadline)) return false;
    }
    if (!may_have_fast_readers(f) || revoke(f, deadline, kWait, listener)) return true;
    listener.gave_up();
    f.core.write_unlock();
    return false;
  }
  static bool try_write_lock(Frame& f) noexcept {
    // Look before disturbing: a reader in the table is reason enough to fail.
    if (may_have_fast_readers(f) && Slots::is_any(f)) return false;
    if (!f.core.try_write_lock()) return false;
    if (!may_have_fast_readers(f) || revoke(f, nullptr, kTry, NobodyListens{})) return true;
    f.core.write_unlock();
    return false;
  }

  // The bias has ended, by a release without a token: such a release may take any hold. relaxed:
  // the program, or a fence, orders it before each thread to which it matters.
  static bool has_ended(const Frame& f) noexcept { return (f.bias.load(relaxed) & kEnded) != 0; }
  // For tests.
  static bool has_fast_readers(const Frame& f) noexcept { return Slots::is_any(f); }

  static bool may_have_fast_readers(Frame& f) noexcept {
    // A writer cannot miss that the bias is on: the reader that switched it on held the underlying
    // lock before this writer. acquire: without kSlotsInUse, pairs with release_any_slot.
    return (f.bias.load(acquire) & kSlotsInUse) != 0;
  }

  // After a fork: see rw_adoption.h.
  static bool needs_no_repair(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);  // relaxed, all: the fork handed it on
    if (bias == kStarting || (bias & kTrying) != 0 ||
        (has_been_on(bias) && (bias & kSlotsInUse) == 0 && Slots::is_any(f))) {
      return false;
    }
    return f.core.needs_no_repair(written);
  }
  static void repair_after_fork(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);
    if (bias == kStarting) f.bias.store(0, relaxed);  // to be started again
    if ((bias & kTrying) != 0) f.bias.store(bias & ~kTrying, relaxed);
    if (has_been_on(bias) && (bias & kSlotsInUse) == 0) Slots::drop(f);
    f.core.repair_after_fork(written);
  }

 private:
  static constexpr std::uint64_t kOn = BiasWord::kOn;
  static constexpr std::uint64_t kSlotsInUse = BiasWord::kSlotsInUse;
  static constexpr std::uint64_t kEnded = BiasWord::kEnded;
  static constexpr std::uint64_t kStarting = BiasWord::kStarting;
  static constexpr std::uint64_t kTrying = BiasWord::kTrying;
  static bool has_been_on(std::uint64_t bias) noexcept { return BiasWord::has_been_on(bias); }

  static constexpr std::uint32_t kMostSlots = 1u << 20;
  static constexpr std::uint32_t kCoreToken = 1u << 29;  // with a token of the core's
  static constexpr Attempt kBiasOff = 1u << 30;
  static constexpr Attempt kCollision = kBiasOff + 1;
  static constexpr Attempt kRaced = 1u << 31;  // with the token of the slot that was published
  static constexpr bool kTry = true;
  static constexpr bool kWait = false;

  using Reads = ReadTokens<Core>;
  static_assert(kMostSlots < kCoreToken && kMustWait <= kCoreToken);
  static constexpr std::uint32_t core_token(std::uint32_t token) noexcept {
    return Reads::kHasTokens ? token | kCoreToken : 0;
  }
  static constexpr bool is_slow(std::uint32_t token) noexcept {
    return token == 0 || (Reads::kHasTokens && token >= kCoreToken);
  }

  // After publishing; 0: there was no place. An attempt.
  [[gnu::always_inline]] static Attempt recheck_bias(Frame& f, Attempt token) noexcept {
    if (token == 0) [[unlikely]]
      return kCollision;
    // The Dekker pair with revoke and end_bias. As an acquire it pairs with the release in
    // consider_bias: the sections of the writers before are seen.
    if ((f.bias.load(Slots::kLook) & kOn) == 0) [[unlikely]]
      return kRaced | token;
    count_fast(f);
    if (token > kMostSlots) __builtin_unreachable();  // so is_in need not be asked
    return token;
  }

  static void count_fast(Frame& f) noexcept {
    Count::on(&f, Event::read);
    Count::on(&f, Event::fast_read);
  }
  // After kRaced: whether the reader is in nevertheless, by its slot. It is if the writer that took
  // the bias away only tries, and has not decided yet.
  [[gnu::noinline]] static bool stays(Frame& f) noexcept {
    std::uint64_t bias = f.bias.load(Slots::kLook);  // as in recheck_bias
    while ((bias & kOn) == 0) {
      if ((bias & kTrying) == 0) return false;
      // seq_cst: as that look, of the next writer too.
      if (f.bias.compare_exchange(bias, (bias & ~kTrying) | kOn, seq_cst)) return true;
      bias = f.bias.load(Slots::kLook);
    }
    return true;
  }

  // With more threads than processors, the slow readers that a writer waits for may not be running.
  // Fast readers would keep the processors from them; readers that come to the underlying lock
  // wait behind the writer.
  template <DrainListener L>
  struct Suspends {
    Frame& f;
    const L& listener;
    void begin() const noexcept {
      suspend(f);
      listener.begin();
    }
    void gave_up() const noexcept { listener.gave_up(); }
  };
  static void suspend(Frame& f) noexcept {
    std::uint64_t bias = f.bias.load(relaxed);
    // relaxed: readers take the slow path a little earlier, which is always right. The writer that
    // gets the underlying lock revokes in either state.
    if ((bias & kOn) != 0) f.bias.compare_exchange(bias, bias & ~kOn, relaxed);
  }

  static bool vacate(const Frame& f, std::uint32_t token) noexcept {
    return Slots::vacate(f, token, [&f] { return has_ended(f); });
  }

  // The writer's half of the Dekker pair. The caller owns the underlying lock. False: it gave up,
  // and the bias is on again.
  template <DrainListener L>
  [[gnu::noinline]] static bool revoke(Frame& f, const Deadline* deadline, bool only_try,
                                       const L& listener) noexcept {
    // Where the fence costs time, that time is taken. Else the clock is read only by a writer that
    // has to wait; 0: it did not.
    std::uint64_t start = Slots::kHasHeavyFence ? P::now() : 0;
    std::uint64_t bias = f.bias.load(relaxed);
    const std::uint64_t trying = only_try ? kTrying : 0;
    // seq_cst: the Dekker pair with recheck_bias. Ends early only if end_bias, which is seq_cst
    // itself, was faster.
    while ((bias & kEnded) == 0 &&
           !f.bias.compare_exchange(bias, (bias & ~kOn) | trying, seq_cst)) {}
    if ((bias & kEnded) == 0) bias = (bias & ~kOn) | trying;
    Slots::heavy_fence();
    std::uint64_t fenced = Slots::kHasHeavyFence ? P::now() : 0;
    const auto before_wait = [&start, &fenced, &listener] {
      if (start == 0) start = fenced = P::now() - glance();
      listener.begin();
    };
    const bool empty = only_try ? !Slots::is_any(f) : Slots::wait(f, deadline, before_wait);
    if (!empty) {
      // relaxed: the underlying write lock is still held, and its next holder sees this. Fails if
      // the bias is being ended.
      if ((bias & kEnded) == 0) f.bias.compare_exchange(bias, (bias & ~kTrying) | kOn, relaxed);
      return false;
    }
    const BiasWord::Revocation took{start, fenced, start == 0 ? glance() : P::now()};
    const std::uint64_t off =
        start == 0 ? BiasWord::revoked(bias) : BiasWord::inhibited(bias, took, Slots::guard(f));
    // relaxed: only a hint of when to bias again; and of a try, nothing was read yet.
    if ((bias & kEnded) != 0 || !f.bias.compare_exchange(bias, off, relaxed)) {
      if ((bias & kEnded) == 0) return false;  // a reader stays, and has put the bias back
      // release: the scan above found no slot, so it hands on what the scan acquired, as in
      // release_any_slot; pairs with end_bias.
      f.bias.store(kEnded, release);
    }
    Count::on(&f, Event::revocation);
    Count::on(&f, Event::revocation_ns, took.cost());
    return true;
  }

  // Ends the bias for good. False: it had ended, and no slot names the lock any more.
  static bool end_bias(Frame& f) noexcept {
    for (;;) {
      // acquire: pairs with the releases of kEnded. A thread that emptied a slot for another hold,
      // the caller's, may have left an extra hold in exchange (marked.h), and that must be seen.
      std::uint64_t bias = f.bias.load(acquire);
      if ((bias & kEnded) != 0) return (bias & kSlotsInUse) != 0;
      const std::uint64_t ended = has_been_on(bias) ? kEnded | kSlotsInUse : kEnded;
      // seq_cst: the Dekker pair with recheck_bias, so that no reader publishes itself unseen after
      // the scan.
      if (f.bias.compare_exchange(bias, ended, seq_cst)) return ended != kEnded;
    }
  }

  // Whether a slow reader may look at the clock, to see whether the bias may come back. Reading the
  // clock costs more than a read, so a thread does it at every 16th (kReadsPerClock) slow read.
  // And it does so only if it has met another thread at this lock: a lock that nobody shares needs
  // no bias, and where the clock is forbidden (PR_SET_TSC) a thread that is alone goes on.
  enum class Look : std::uint8_t { none, alone, met };
  static bool is_turn() noexcept {
    return (++P::template local<SlowReads>().n & (kReadsPerClock - 1)) == 0;
  }
  // Before the reader arrives.
  static Look look_around(const Frame& f) noexcept {
    if (!is_turn()) return Look::none;
    // relaxed: a hint. Only an inhibited bias asks for the clock.
    const std::uint64_t bias = f.bias.load(relaxed);
    const bool asks = bias != 0 && (bias & (kOn | kSlotsInUse | kEnded)) == 0;
    return asks && has_readers(f) ? Look::met : Look::alone;
  }
  // This core's read_arrive does nothing, and its read_wait all.
  static constexpr bool kArrivesLater = GuessesReaders<Core>;
  static bool has_readers(const Frame& f) noexcept {
    if constexpr (GuessesReaders<Core>) {
      return f.core.seems_read();
    } else {
      return f.core.has_readers();
    }
  }
  static std::uint64_t glance() noexcept { return P::template global<ScanCost>().ns; }

  // For a reader that holds the underlying lock: counts, and perhaps switches the bias on.
  static void consider_bias(Frame& f, Look look) noexcept {
    Count::on(&f, Event::read);
    std::uint64_t bias = f.bias.load(relaxed);
    if ((bias & (kOn | kEnded)) != 0) return;
    std::uint64_t on = (bias & ~kTrying) | kOn;  // of a bias that is suspended
    if ((bias & kSlotsInUse) == 0) {
      if (look == Look::none) return;
      std::uint64_t now = 0;  // of an unused lock: since ever
      if (bias != 0) {
        if (look != Look::met) return;
        now = P::now();
        if (!inhibit(f, bias, now) || !BiasWord::may_start(bias, now)) return;
      }
      on = BiasWord::on_since(now, bias);
    }
    // A writer that waits already would revoke it at once, after readers had overtaken it.
    if (f.core.has_writer()) return;
    if (bias == 0 && !start(f, bias)) return;
    // release: hands on the writers that the underlying lock showed to this reader; pairs with
    // recheck_bias. Fails if another reader was faster, or the bias has ended.
    if (f.bias.compare_exchange(bias, on, release) && f.core.has_writer()) suspend(f);
  }
  // Of a revoked bias: from now on it is inhibited for as long as that revocation costs. False:
  // another thread was faster.
  static bool inhibit(Frame& f, std::uint64_t& bias, std::uint64_t now) noexcept {
    if (!BiasWord::is_revoked(bias)) return true;
    const std::uint64_t until = BiasWord::inhibited(bias, now, glance(), Slots::guard(f));
    // relaxed: only a hint of when to bias again.
    if (!f.bias.compare_exchange(bias, until, relaxed)) return false;
    bias = until;
    return true;
  }

  // Before the bias is on for the first time: slots that name this address are of an earlier lock.
  // False: another thread empties them.
  [[gnu::noinline]] static bool start(Frame& f, std::uint64_t& bias) noexcept {
    // relaxed: it keeps others off; what they need is released when the bias is switched on.
    if (!f.bias.compare_exchange(bias, kStarting, relaxed)) return false;
    bias = kStarting;
    Slots::drop(f);
    return true;
  }
  static constexpr std::uint32_t kReadsPerClock = P::kReadsPerClock;  // a power of two
  struct SlowReads {
    std::uint32_t n;
  };
};

}  // namespace lockswap
