// How BRAVO's bias (bravo.h) is taken away. A writer revokes or suspends it, and a release without
// a token ends it for good.
//
// The writer's half of the Dekker pair is here: revoke() and end_bias() update the bias, then scan
// the slots for readers. The table in bias_word.h says what each does to the word.
#pragma once

#include <cstdint>

#include "locks/common/events.h"
#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "locks/rw/bias_word.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "platform/function_ref.h"
#include "readers/concept.h"
#include "readers/readers_table.h"

namespace lockswap {

template <Platform P, RwCore Core, EventCounter Count, ReaderSlots<RwFrame<P, Core>> Slots>
struct BravoRevocation {
  using Frame = RwFrame<P, Core>;
  using Word = BiasWord;

  static void check_bias(const Frame& f) noexcept {
    P::check([&f] { return Word::is_a_state(f.bias.load(relaxed)); });
  }

  static constexpr bool kTry = true;  // revoke's mode
  static constexpr bool kWait = false;

  // Suspends the bias when a writer has to wait for slow readers. With more threads than processors
  // these may not be running, and fast readers would take the processors they need. Readers that
  // come to the underlying lock instead wait behind the writer.
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
    if ((bias & Word::kOn) != 0) f.bias.compare_exchange(bias, bias & ~Word::kOn, relaxed);
  }

  // The writer's half of the Dekker pair. The caller holds the underlying lock. Returns false if it
  // gave up, with the bias on again. Calls `waits` before it waits for readers.
  [[gnu::noinline]] static bool revoke(Frame& f, const Deadline* deadline, bool only_try,
                                       FunctionRef<void()> waits) noexcept {
    check_bias(f);
    // If the fence is expensive, its time is measured. Otherwise only a writer that has to wait
    // reads the clock, and 0 means that it was not read.
    std::uint64_t start = Slots::kHasHeavyFence ? P::now() : 0;
    std::uint64_t bias = f.bias.load(relaxed);
    const std::uint64_t trying = only_try ? Word::kTrying : 0;
    // seq_cst: the Dekker pair with recheck_bias. Fails only if end_bias, which is seq_cst too, was
    // faster.
    while ((bias & Word::kEnded) == 0 &&
           !f.bias.compare_exchange(bias, (bias & ~Word::kOn) | trying, seq_cst)) {}
    if ((bias & Word::kEnded) == 0) bias = (bias & ~Word::kOn) | trying;
    Slots::heavy_fence();
    std::uint64_t fenced = Slots::kHasHeavyFence ? P::now() : 0;
    const auto before_wait = [&start, &fenced, waits] {
      if (start == 0) start = fenced = P::now() - glance();
      waits();
    };
    const bool empty = only_try ? !Slots::is_any(f) : Slots::wait(f, deadline, before_wait);
    if (!empty) {
      // relaxed: the underlying write lock is still held, and its next holder sees this. Fails if
      // the bias is being ended.
      if ((bias & Word::kEnded) == 0)
        f.bias.compare_exchange(bias, (bias & ~Word::kTrying) | Word::kOn, relaxed);
      return false;
    }
    const Word::Revocation took{start, fenced, start == 0 ? glance() : P::now()};
    const std::uint64_t off =
        start == 0 ? Word::revoked(bias) : Word::inhibited(bias, took, Slots::guard(f));
    // relaxed: affects only when the bias is tried again; and in a try nothing was read yet.
    if ((bias & Word::kEnded) != 0 || !f.bias.compare_exchange(bias, off, relaxed)) {
      if ((bias & Word::kEnded) == 0) return false;  // a reader stays, and has put the bias back
      // release: republishes what the scan above, which found no slot, acquired, as in
      // release_any_slot; pairs with end_bias.
      f.bias.store(Word::kEnded, release);
    }
    Count::on(&f, Event::revocation);
    Count::on(&f, Event::revocation_ns, took.cost());
    return true;
  }

  // Ends the bias for good. Returns false if it had ended and no slot names the lock any more.
  static bool end_bias(Frame& f) noexcept {
    for (;;) {
      check_bias(f);
      // acquire: pairs with the releases of kEnded. A thread that emptied a slot for another hold,
      // the caller's, may have left an extra hold in exchange (marked.h), and that must be visible.
      std::uint64_t bias = f.bias.load(acquire);
      if ((bias & Word::kEnded) != 0) return (bias & Word::kSlotsInUse) != 0;
      const std::uint64_t ended =
          Word::has_been_on(bias) ? Word::kEnded | Word::kSlotsInUse : Word::kEnded;
      // seq_cst: the Dekker pair with recheck_bias, so that no reader publishes itself unseen after
      // the scan.
      if (f.bias.compare_exchange(bias, ended, seq_cst)) return ended != Word::kEnded;
    }
  }

  // The cost of a scan of the slots, in ns.
  static std::uint64_t glance() noexcept { return P::template global<ScanCost>().ns; }
};

}  // namespace lockswap
