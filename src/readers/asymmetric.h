// Readers that acquire and release without an atomic RMW: a writer that waits for them pays.
//
// Paper: none; the asymmetric fence is that of user-space RCU (M. Desnoyers and others, IEEE TPDS
//   2012, section 5) and of the Linux call that was made for it, membarrier.
// Idea: a store that must come before a load needs a fence. Readers have none; the thread on the
//   other side has every processor run one. There are three such pairs:
//
//     the reader                             the other thread
//     1. fills a section                     1. changes the domain
//     2. loads the domain (kLook)            2. P::heavy_fence
//                                            3. loads the sections
//     1. empties its section                 1. counts itself among the row's sleepers
//     2. checks for sleepers of its row      2. P::barrier_in_all
//                                            3. loads the section, and sleeps
//     1. says that it vacates the section    1. closes the domain
//     2. checks if the domain is closed      2. P::barrier_in_all
//                                            3. waits until no reader vacates; takes the section
//
//   In each, either the other thread sees the reader's store, or the reader sees the change. The
//   second and third are rare, so their readers never pay (P::light_fence is for the first).
// Invariants: a section is emptied by its row's own thread, by a store; or by any thread, by an
//   RMW, if the domain is closed and, after a barrier, no thread is vacating the section.
// Signals: while a section is being filled, a handler fills none (Rows::Mine::filling).
// Fork: a thread that is vacating a section records in which process. In a child, the parent's
//   threads never finish that, so their records don't count.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/quiescence.h"
#include "readers/rows.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class Asymmetric {
  using Section = typename Rows<P>::Section;

 public:
  static constexpr bool kAsymmetric = true;
  static bool prepare() noexcept { return P::prepare_heavy_fence(); }

  [[gnu::always_inline]] static bool fill(std::uint32_t place, std::uint64_t word) noexcept {
    auto& me = Rows<P>::mine();
    if (me.filling != 0) [[unlikely]]
      return false;
    me.filling = 1;
    signal_fence();
    Section& section = Rows<P>::at(place);
    // The light fence orders both before the load of the domain. relaxed: nobody else fills it.
    const bool empty = section.load(relaxed) == 0;
    // release: a thread that waits for readers of another domain may load this word instead of the
    // release store that ended this thread's section there, which it still has to synchronise with;
    // pairs with Rows::each_of.
    if (empty) [[likely]]
      section.store(word | Rows<P>::kSleepers, release);
    signal_fence();
    me.filling = 0;
    P::light_fence();
    return empty;
  }
  static constexpr Order kLook = acquire;  // pairs with the releases of earlier writers

  template <class Closed>
  [[gnu::noinline]] static bool vacate(std::uint32_t place, std::uint64_t domain,
                                       const Closed& closed) noexcept {
    P::process();  // from now on the process has a mark
    if (fast_vacate(place, domain, closed)) return true;
    // relaxed: there is nothing to publish, as the section is unchanged.
    Rows<P>::vacating(place).store(0, relaxed);
    return take(place, domain);
  }
  template <class Closed>
  [[gnu::always_inline]] static bool fast_vacate(std::uint32_t place, std::uint64_t,
                                                 const Closed& closed) noexcept {
    const std::uint64_t process = P::process_mark();
    if (process == 0) [[unlikely]]
      return false;
    Section& vacating = Rows<P>::vacating(place);
    vacating.store(process, relaxed);  // relaxed: vacate_any orders it
    signal_fence();
    if (closed()) [[unlikely]]
      return false;
    Rows<P>::at(place).store(0, release);  // for the critical section; pairs with wait and each_of
    vacating.store(0, release);            // publishes the empty section; pairs with vacate_any
    wake_sleepers(place);
    return true;
  }

  static void heavy_fence() noexcept { P::heavy_fence(); }
  template <class F>
  static bool wait(std::uint64_t domain, const Deadline* deadline, const F& before_wait) noexcept {
    return Rows<P>::each_of(domain, [&](std::uint32_t place, std::uint64_t word) {
      before_wait();
      return wait_for(place, word, deadline);
    });
  }
  static bool vacate_any(std::uint64_t domain) noexcept {
    P::barrier_in_all();
    return !Rows<P>::each_of(domain, [domain](std::uint32_t place, std::uint64_t) {
      Section& vacating = Rows<P>::vacating(place);
      // After the barrier this reveals each reader that did not see the domain closed. acquire:
      // pairs with fast_vacate, so that `take` sees as empty the section of one that has finished.
      if (const std::uint64_t who = vacating.load(acquire); who != 0 && who == P::process_mark()) {
        // This is a handler that interrupted the reader, so that hold is as good as released.
        if (Rows<P>::row_of(Rows<P>::mine().first) == Rows<P>::row_of(place)) return true;
        // acquire: pairs with fast_vacate.
        P::await(Pause::nap, vacating, acquire, [](std::uint64_t v) { return v == 0; });
      }
      return !take(place, domain);
    });
  }

 private:
  static bool wait_for(std::uint32_t place, std::uint64_t word, const Deadline* deadline) noexcept {
    Section& sleepers = Rows<P>::sleepers(place);
    if constexpr (W::kParks) {
      sleepers.fetch_add(1, relaxed);  // relaxed: the barrier orders it; see wake_sleepers
      P::barrier_in_all();
    }
    const auto left = [word](std::uint64_t v) { return v != word; };
    // acquire: pairs with fast_vacate.
    const bool in = W::until(Rows<P>::at(place), acquire, 0, Readers<P>::kChannel, deadline, left);
    if constexpr (W::kParks) sleepers.fetch_sub(1, relaxed);
    return in;
  }
  static bool take(std::uint32_t place, std::uint64_t domain) noexcept {
    if (Readers<P>::empty(Rows<P>::at(place), domain) == 0) return false;
    wake_sleepers(place);
    return true;
  }
  [[gnu::always_inline]] static void wake_sleepers(std::uint32_t place) noexcept {
    if constexpr (W::kParks) {
      signal_fence();
      if (Rows<P>::sleepers(place).load(relaxed) != 0) [[unlikely]]  // relaxed: see wait_for
        wake(place);
    }
  }
  // Wakes by the section, not the domain, which may no longer exist.
  [[gnu::noinline]] static void wake(std::uint32_t place) noexcept {
    W::wake(&Rows<P>::at(place), Readers<P>::kChannel);
  }
};

}  // namespace lockswap
