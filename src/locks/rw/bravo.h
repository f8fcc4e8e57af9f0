// BRAVO: biased locking for reader-writer locks, over any underlying lock.
//
// Paper: D. Dice, A. Kogan, "BRAVO - Biased Locking for Reader-Writer Locks" (USENIX ATC 2019),
//   section 3, listing 1.
// Idea: while a lock is biased towards readers, a reader does not touch it: it publishes the lock's
//   address in a slot of a table that all locks share. A writer takes the underlying lock, then
//   revokes the bias and waits until no slot names the lock. How long that took, times N, the bias
//   stays off, so that writers lose at most 1/(N+1) of their time.
// State: one word, "bias" (the paper's RBias and InhibitUntil in one):
//   bit 0      on: readers may use the table
//   bit 1      named: slots may name the lock
//   bit 2      ended: off for good
//   bits 3..5  doubt: how many times in a row the bias did not pay
//   bits 6..   a time (P::now in steps of 64 ns): on, since when; off, until when
//   So 0 is off and never was on, and a slow reader switches it on. "on" has "named"; "named" alone
//   is a bias that is being revoked, or that a waiting writer has diverted readers from.
// Invariants: the bias is switched on only under the underlying read lock, so never while a writer
//   owns. While a writer owns, no slot names the lock, but for readers that are about to back out.
//   Where slots are, and how readers fill and empty them: table_slots.h, or readers/row_slots.h.
// Fairness: the underlying lock's; but readers that published themselves before a writer came go
//   first. Readers that come after it wait behind it, if the underlying lock has them do so.
// Space: 8 bytes a lock; one table a process, or a row a thread.
// Deviations: a bias that was on for less than N times what its revocation cost did not pay. Each
//   time in a row that this happens doubles the time for which it stays off, 128-fold at most: the
//   paper's rule alone lets a lock that is often written lose 1/(N+1) and more. What it costs to
//   settle the slots (row_slots.h: a barrier on all processors) is counted whole, waiting for
//   readers up to kMostBlame, since some of them may have been preempted.
//   Slow readers do not each read the clock, and do not bias a lock that a writer waits for: see
//   slow_read. A writer that has to wait for slow readers diverts new ones from the table before,
//   not after: see write_lock. A writer that gives up puts the bias back, since slots may still
//   name the lock. Try forms: readers try the table first; a writer looks at the table before it
//   disturbs anybody.
// Fork: in a child, slots stay, as holds do. While no slot may name the lock, those that do are of
//   readers that were about to back out: repair_after_fork() frees them.
// Destroy is safe: a fast reader's last access is to its slot, which is never freed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/common/rw_layout.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "readers/table_slots.h"

namespace lockswap {

// Slots: where fast readers publish themselves; see table_slots.h for what it must have.
template <class P, class W, class Core, class Count, class Slots = TableSlots<P, W>>
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

  // A read's attempt: the token of a fast hold, which says where it is; or why there is none, and
  // once read_continue has arrived at the underlying lock, what to wait for there. The token of a
  // slow hold: 0, or of_core() the core's own token.
  using Attempt = std::uint32_t;

  // The reader's half of the Dekker pair with revoke: publish, then look at the bias again.
  [[gnu::always_inline]] static Attempt read_begin(Frame& f) noexcept {
    // relaxed: a hint, the re-check decides.
    if ((f.bias.load(relaxed) & kOn) == 0) [[unlikely]]
      return kBiasOff;
    return look_again(f, Slots::fill(f));
  }
  static constexpr bool is_in(Attempt a) noexcept { return a < kBiasOff; }
  static constexpr std::uint32_t token_of(Attempt a) noexcept { return a; }

  // The slow path. True: it holds the lock, the attempt is its token. False: the attempt is the
  // phase to wait for.
  static bool read_continue(Frame& f, Attempt& a) noexcept {
    if (a == kCollision) a = look_again(f, Slots::fill_elsewhere(f));
    if (is_in(a)) return true;
    const Event why = a == kCollision ? Event::slow_read_collision : Event::slow_read_bias_off;
    if (a >= kRaced && !vacate(f, a & ~kRaced)) {
      // Another thread, which released a hold that was not its own, took this slot for it. So the
      // hold that it meant to release is still there, and is this reader's now.
      a = 0;
      Count::on(&f, Event::read);
      Count::on(&f, why);
      return true;
    }
    a = f.core.read_arrive();
    Count::on(&f, why);
    if (!Reads::is_in(a)) return false;
    a = of_core(a);
    slow_read(f);
    return true;
  }
  static bool read_wait(Frame& f, Attempt& a, const Deadline* deadline) noexcept {
    if (!Reads::wait(f.core, a, deadline)) return false;
    a = of_core(a);
    slow_read(f);
    return true;
  }
  static bool read_withdraw(Frame& f, Attempt a) noexcept { return f.core.read_withdraw(a); }
  static bool try_read_lock(Frame& f, std::uint32_t& token) noexcept {
    Attempt a = read_begin(f);
    if (a == kCollision) a = look_again(f, Slots::fill_elsewhere(f));
    if (is_in(a)) {
      token = token_of(a);
      return true;
    }
    token = 0;
    if (a >= kRaced && !vacate(f, a & ~kRaced)) {  // as in read_continue
      Count::on(&f, Event::read);
    } else if (Reads::try_lock(f.core, token)) {
      token = of_core(token);
      slow_read(f);
    } else {
      return false;
    }
    Count::on(&f, a == kCollision ? Event::slow_read_collision : Event::slow_read_bias_off);
    return true;
  }

  // False: the hold that the token stands for has been released by another thread.
  static bool read_unlock(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) return Reads::unlock(f.core, token & ~kOfCore);
    return vacate(f, token);
  }
  // The same as a hot path: false also when there is more to do; then go on with read_unlock.
  [[gnu::always_inline]] static bool read_unlock_fast(Frame& f, std::uint32_t token) noexcept {
    if (is_slow(token)) [[unlikely]]
      return Reads::unlock(f.core, token & ~kOfCore);
    return Slots::fast_vacate(f, token, [&f] { return has_ended(f); });
  }

  // For releases without a token: ends the bias for good, and releases one fast hold, whosever it
  // is. False: there is none, nor will there be one.
  static bool release_any_slot(Frame& f) noexcept {
    if (!retire(f)) return false;
    if (Slots::vacate_any(f)) return true;
    std::uint64_t ending = kEnded | kSlotsInUse;
    // release: hands on the readers that were acquired just now; pairs with may_have_fast_readers.
    f.bias.compare_exchange(ending, kEnded, release);
    return false;
  }

  static void write_lock(Frame& f) noexcept {
    // With more threads than processors, the slow readers that this writer waits for may not be
    // running. Fast readers would keep the processors from them; readers that come to the
    // underlying lock wait behind the writer.
    f.core.write_lock([&f] { divert(f); });
    if (may_have_fast_readers(f)) revoke(f, nullptr, kWait);
  }
  static bool write_lock_until(Frame& f, const Deadline* deadline) noexcept {
    if (!f.core.write_lock_until(deadline)) return false;
    if (!may_have_fast_readers(f) || revoke(f, deadline, kWait)) return true;
    f.core.write_unlock();
    return false;
  }
  static bool try_write_lock(Frame& f) noexcept {
    // Look before disturbing: a reader in the table is reason enough to fail.
    if (may_have_fast_readers(f) && Slots::is_any(f)) return false;
    if (!f.core.try_write_lock()) return false;
    if (!may_have_fast_readers(f) || revoke(f, nullptr, kTry)) return true;
    f.core.write_unlock();
    return false;
  }

  // It is over with the bias, as only a release by another thread makes it: such a release may take
  // any hold. relaxed: whom it matters to, the program or a fence has told.
  static bool has_ended(const Frame& f) noexcept { return (f.bias.load(relaxed) & kEnded) != 0; }
  // For tests.
  static bool has_fast_readers(const Frame& f) noexcept { return Slots::is_any(f); }

  static bool may_have_fast_readers(Frame& f) noexcept {
    // That the bias is on cannot be missed: whoever switched it on held the underlying lock before
    // this writer. acquire: without kSlotsInUse, pairs with release_any_slot.
    return (f.bias.load(acquire) & kSlotsInUse) != 0;
  }

  // After a fork; see rw_contract.h.
  static bool needs_no_repair(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);  // relaxed, here and below: as in pf-t.h
    if (bias == kStarting || (has_been_on(bias) && (bias & kSlotsInUse) == 0 && Slots::is_any(f))) {
      return false;
    }
    return f.core.needs_no_repair(written);
  }
  static void repair_after_fork(Frame& f, bool written) noexcept {
    const std::uint64_t bias = f.bias.load(relaxed);
    if (bias == kStarting) f.bias.store(0, relaxed);  // to be started again
    if (has_been_on(bias) && (bias & kSlotsInUse) == 0) Slots::drop(f);
    f.core.repair_after_fork(written);
  }

 private:
  static constexpr std::uint64_t kOn = 1;
  static constexpr std::uint64_t kSlotsInUse = 2;
  static constexpr std::uint64_t kEnded = 4;
  static constexpr std::uint64_t kDoubt = 7u << 3;
  static constexpr int kDoubtShift = 3;
  static constexpr std::uint64_t kMostDoubt = 7;
  static constexpr std::uint64_t kTime = ~std::uint64_t{63};
  static constexpr std::uint64_t kStarting = kTime;  // off for ever, or until start() is through
  // How much of the time to wait for readers the bias is blamed for at most. The rest is for
  // readers that had been preempted, for which a writer would have waited without a bias too. What
  // it takes to settle the slots is the bias's own fault.
  static constexpr std::uint64_t kMostBlame = 8192;  // ns
  static constexpr std::uint32_t kMostSlots = 1u << 20;
  static constexpr std::uint32_t kOfCore = 1u << 29;  // a token of the core's
  static constexpr Attempt kBiasOff = 1u << 30;
  static constexpr Attempt kCollision = kBiasOff + 1;
  static constexpr Attempt kRaced = 1u << 31;  // with the token of the slot that was published
  static constexpr bool kTry = true;
  static constexpr bool kWait = false;

  using Reads = ReadTokens<Core>;
  static_assert(kMostSlots < kOfCore && kMustWait <= kOfCore);
  static constexpr std::uint32_t of_core(std::uint32_t token) noexcept {
    return Reads::kHasTokens ? token | kOfCore : 0;
  }
  static constexpr bool is_slow(std::uint32_t token) noexcept {
    return token == 0 || (Reads::kHasTokens && token >= kOfCore);
  }

  // After publishing: an attempt. 0: there was no place.
  [[gnu::always_inline]] static Attempt look_again(Frame& f, Attempt token) noexcept {
    if (token == 0) [[unlikely]]
      return kCollision;
    // Either the revoker sees this reader, or this thread sees its change of the bias. As an
    // acquire it pairs with the release in slow_read: the writers before are seen.
    if ((f.bias.load(Slots::kLook) & kOn) == 0) [[unlikely]]
      return kRaced | token;
    Count::on(&f, Event::read);
    Count::on(&f, Event::fast_read);
    if (token > kMostSlots) __builtin_unreachable();  // so is_in need not be asked
    return token;
  }

  static void divert(Frame& f) noexcept {
    std::uint64_t bias = f.bias.load(relaxed);
    // relaxed: readers take the slow path a little earlier, which is always right. Who gets the
    // underlying lock revokes in either state.
    if ((bias & kOn) != 0) f.bias.compare_exchange(bias, bias & ~kOn, relaxed);
  }

  static bool vacate(const Frame& f, std::uint32_t token) noexcept {
    return Slots::vacate(f, token, [&f] { return has_ended(f); });
  }

  // The writer's half of the pair. It owns the underlying lock. False: gave up, nothing changed.
  [[gnu::noinline]] static bool revoke(Frame& f, const Deadline* deadline, bool only_try) noexcept {
    const std::uint64_t start = P::now();
    std::uint64_t bias = f.bias.load(relaxed);
    // seq_cst: see read_begin. Gives up only against retire, which has stored seq_cst itself.
    while ((bias & kEnded) == 0 && !f.bias.compare_exchange(bias, bias & ~kOn, seq_cst)) {}
    bias &= ~kOn;
    Slots::heavy_fence();
    const std::uint64_t settled = Slots::kHasHeavyFence ? P::now() : start;
    const bool empty = only_try ? !Slots::is_any(f) : Slots::wait(f, deadline);
    if (!empty) {
      // relaxed: the underlying write lock is still held; who gets it next sees this. Fails if the
      // bias is being ended.
      if ((bias & kEnded) == 0) f.bias.compare_exchange(bias, bias | kOn, relaxed);
      return false;
    }
    const std::uint64_t end = P::now();
    const std::uint64_t cost = end - start, guard = Slots::guard(f);
    const std::uint64_t blame = settled - start + std::min(end - settled, kMostBlame);
    const bool paid = start - (bias & kTime) >= blame * guard;
    const std::uint64_t doubt = paid ? 0 : std::min(doubt_of(bias) + 1, kMostDoubt);
    const std::uint64_t until = end + (cost * guard << doubt);
    // relaxed: only a hint of when to bias again. release: an end of the bias is settled by what
    // was looked at above, so it hands on what that acquired, as in release_any_slot; pairs with
    // retire.
    const std::uint64_t off = (until & kTime) | doubt << kDoubtShift;
    if ((bias & kEnded) != 0 || !f.bias.compare_exchange(bias, off, relaxed)) {
      f.bias.store(kEnded, release);
    }
    Count::on(&f, Event::revocation);
    Count::on(&f, Event::revocation_ns, cost);
    return true;
  }

  // Ends the bias for good. False: it had ended, and no slot names the lock any more.
  static bool retire(Frame& f) noexcept {
    for (;;) {
      // acquire: pairs with the releases of kEnded. Who emptied a slot that named a hold of the
      // caller's may have left an extra hold for it (rw_contract.h), and that must be seen.
      std::uint64_t bias = f.bias.load(acquire);
      if ((bias & kEnded) != 0) return (bias & kSlotsInUse) != 0;
      const std::uint64_t ended = has_been_on(bias) ? kEnded | kSlotsInUse : kEnded;
      // seq_cst: like revoke's, so that no reader publishes itself unseen after the scan.
      if (f.bias.compare_exchange(bias, ended, seq_cst)) return ended != kEnded;
    }
  }

  // The underlying read lock is held: counts, and perhaps switches the bias on. Reading the clock
  // costs more than a read, so a thread looks at it only at every 16th (kReadsPerClock) slow read
  // of a lock whose bias is inhibited.
  static void slow_read(Frame& f) noexcept {
    Count::on(&f, Event::read);
    std::uint64_t bias = f.bias.load(relaxed);
    if ((bias & (kOn | kEnded)) != 0) return;
    std::uint64_t on = bias | kOn;  // of a bias that readers were diverted from
    if ((bias & kSlotsInUse) == 0) {
      if ((++P::template local<SlowReads>().n & (kReadsPerClock - 1)) != 0) return;
      const std::uint64_t now = P::now();
      if (now < (bias & kTime)) return;
      on = (now & kTime) | (bias & kDoubt) | kSlotsInUse | kOn;
    }
    // A writer that waits already would revoke it at once, after readers had overtaken it.
    if (f.core.has_writer()) return;
    if (bias == 0 && !start(f, bias)) return;
    // release: hands on the writers that the underlying lock showed to this reader; pairs with the
    // re-check in read_begin. Fails if another reader was faster, or the bias has been ended.
    if (f.bias.compare_exchange(bias, on, release) && f.core.has_writer()) divert(f);
  }

  // Before the bias is on for the first time: what slots say of this address is from a lock that is
  // no more. False: another thread does it.
  [[gnu::noinline]] static bool start(Frame& f, std::uint64_t& bias) noexcept {
    // relaxed: it keeps others off; what they need is released when the bias is switched on.
    if (!f.bias.compare_exchange(bias, kStarting, relaxed)) return false;
    bias = kStarting;
    Slots::drop(f);
    return true;
  }
  // Slots of a lock whose bias never was on are of one that is no more.
  static bool has_been_on(std::uint64_t bias) noexcept { return bias != 0 && bias != kStarting; }

  static std::uint64_t doubt_of(std::uint64_t bias) noexcept {
    return (bias & kDoubt) >> kDoubtShift;
  }

  static constexpr std::uint32_t kReadsPerClock = P::kReadsPerClock;  // a power of two
  struct SlowReads {
    std::uint32_t n;
  };
};

}  // namespace lockswap
