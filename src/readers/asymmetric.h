// Readers that enter and leave without an update: who waits for them pays for both.
//
// Paper: none; the asymmetric fence is that of user-space RCU (M. Desnoyers and others, IEEE TPDS
//   2012, section 5) and of the Linux call that was made for it, membarrier.
// Idea: a reader fills its section by a store, and then looks at the domain. Who changed the domain
//   has every processor run a barrier before it looks at the sections (P::heavy_fence): then either
//   the store is seen, or the reader's look comes later and sees the change. The same for whatever
//   else needs a reader's store to come before its load; these are rare, so their readers never pay
//   (P::barrier_in_all):
//   sleepers  a reader that has left looks whether somebody sleeps on a section of its row
//   leaving   a reader that is about to leave a section says so, and looks whether the domain is
//             closed, when others may take its hold. Who does that waits until readers that did not
//             see it have left
// Invariants: sections are emptied by the row's own thread, by a store, or, of a closed domain that
//   was settled and while nobody is about to leave them, by anybody, by an update.
// Signals: while a section is being filled, a handler fills none (Rows::Mine::filling).
// Fork: who is about to leave says of which process it is. In a child, those of others never will.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/quiescence.h"
#include "readers/rows.h"

namespace lockswap {

template <class P, class W>
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
    // relaxed, both: the light fence orders them before the look at the domain.
    const bool empty = section.load(relaxed) == 0;
    if (empty) [[likely]]
      section.store(word | Rows<P>::kSleepers, relaxed);
    signal_fence();
    me.filling = 0;
    P::light_fence();
    return empty;
  }
  static constexpr Order kLook = acquire;  // the writers before it

  template <class Closed>
  [[gnu::noinline]] static bool vacate(std::uint32_t place, std::uint64_t domain,
                                       const Closed& closed) noexcept {
    P::process();  // from now on it has a mark
    if (fast_vacate(place, domain, closed)) return true;
    // relaxed: it says nothing about the section.
    Rows<P>::leaving(place).store(0, relaxed);
    return take(place, domain);
  }
  template <class Closed>
  [[gnu::always_inline]] static bool fast_vacate(std::uint32_t place, std::uint64_t,
                                                 const Closed& closed) noexcept {
    const std::uint64_t process = P::process_mark();
    if (process == 0) [[unlikely]]
      return false;
    Section& leaving = Rows<P>::leaving(place);
    leaving.store(process, relaxed);  // relaxed: vacate_any orders it
    signal_fence();
    if (closed()) [[unlikely]]
      return false;
    Rows<P>::at(place).store(0, release);  // the critical section; pairs with wait and each_of
    leaving.store(0, release);             // the section is empty; pairs with vacate_any
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
      Section& leaving = Rows<P>::leaving(place);
      // relaxed: after the barrier it is not older than a leave that did not see it closed.
      if (const std::uint64_t who = leaving.load(relaxed); who != 0 && who == P::process_mark()) {
        // A handler that interrupted it: that hold is as good as released.
        if (Rows<P>::row_of(Rows<P>::mine().first) == Rows<P>::row_of(place)) return true;
        // acquire: pairs with fast_vacate.
        P::await(Pause::nap, leaving, acquire, [](std::uint64_t v) { return v == 0; });
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
  // The section, not the domain: that may be gone.
  [[gnu::noinline]] static void wake(std::uint32_t place) noexcept {
    W::wake(&Rows<P>::at(place), Readers<P>::kChannel);
  }
};

}  // namespace lockswap
