// Readers that enter and leave without an update: who waits for them pays for both.
//
// Paper: none; the asymmetric fence is that of user-space RCU (M. Desnoyers and others, IEEE TPDS
//   2012, section 5) and of the Linux call that was made for it, membarrier.
// Idea: a reader fills its section by a store, and then looks at the domain. Who changed the domain
//   has every processor run a barrier before it looks at the sections (P::heavy_fence): then either
//   the store is seen, or the reader's look comes later and sees the change. The same for whatever
//   else needs a reader's store to come before its load:
//   sleepers  a reader that has left looks whether somebody sleeps on a section of its row
//   leaving   a reader that is about to leave says so, and looks whether the domain is closed, when
//             others may take its hold. Who does that waits until readers that did not see it have
//             left
// Invariants: sections are emptied by the row's own thread, by a store, or, of a closed domain that
//   was settled and while `leaving` is 0, by anybody, by an update.
// Signals: `leaving` counts, for a handler may leave amid its thread's leaving. While a section is
//   being filled, a handler finds no place (Rows::Mine::filling).
// Fork: in a child, nobody of another process leaves: `process` says of which one a row's thread
//   is. The one that survived says so anew before it leaves.
#pragma once

#include <cstdint>

#include "platform/clock.h"
#include "platform/concept.h"
#include "rlu/quiescence.h"
#include "rlu/rows.h"

namespace lockswap {

template <class P, class W>
class Asymmetric {
  using Row = typename Rows<P>::Row;
  using Section = typename Rows<P>::Section;

 public:
  static bool prepare() noexcept { return P::prepare_heavy_fence(); }

  static bool fill(std::uint32_t place, std::uint64_t word) noexcept {
    auto& me = Rows<P>::mine();
    if (me.filling != 0) [[unlikely]]
      return false;
    me.filling = 1;
    signal_fence();
    Section& section = Rows<P>::at(place);
    // relaxed, both: the light fence orders them before the look at the domain.
    const bool empty = section.load(relaxed) == 0;
    if (empty) [[likely]]
      section.store(word | Rows<P>::kParked, relaxed);
    signal_fence();
    me.filling = 0;
    P::light_fence();
    return empty;
  }
  static constexpr Order kLook = acquire;  // the writers before it

  template <class Closed>
  static bool leave(std::uint32_t place, std::uint64_t domain, const Closed& closed) noexcept {
    Row& row = Rows<P>::row_at(place);
    Section& section = Rows<P>::at(place);
    // relaxed, all but the last two: the light fences order them.
    if (!P::is_process(row.process.load(relaxed))) [[unlikely]]
      row.process.store(P::process(), relaxed);
    const std::uint32_t others = row.leaving.load(relaxed);
    row.leaving.store(others + 1, relaxed);
    P::light_fence();
    const bool alone = !closed();
    if (alone) [[likely]]
      section.store(0, release);         // the critical section; pairs with wait and each_of
    row.leaving.store(others, release);  // the section is empty; pairs with leave_any
    if (!alone) [[unlikely]]
      return take(row, section, domain);
    wake(row, section);
    return true;
  }

  static void settle() noexcept { P::heavy_fence(); }
  template <class F>
  static bool wait(std::uint64_t domain, const Deadline* deadline, const F& before_wait) noexcept {
    return Rows<P>::each_of(domain, [&](Row& row, Section& section, std::uint64_t word) {
      before_wait();
      return wait_for(row, section, word, deadline);
    });
  }
  static bool leave_any(std::uint64_t domain) noexcept {
    P::heavy_fence();
    return !Rows<P>::each_of(domain, [domain](Row& row, Section& section, std::uint64_t) {
      // relaxed: after the heavy fence it is not older than a leave that did not see it closed.
      if (P::is_process(row.process.load(relaxed))) {
        // A handler that interrupted it: that hold is as good as released.
        if (is_mine(row) && row.leaving.load(relaxed) != 0) return true;
        // acquire: pairs with leave.
        P::await(Pause::yield, row.leaving, acquire, [](std::uint32_t n) { return n == 0; });
      }
      return !take(row, section, domain);
    });
  }

 private:
  static bool wait_for(Row& row, Section& section, std::uint64_t word,
                       const Deadline* deadline) noexcept {
    // relaxed: the fence after it pairs with the light one in wake.
    if constexpr (W::kParks) {
      row.sleepers.fetch_add(1, relaxed);
      P::heavy_fence();
    }
    const auto left = [word](std::uint64_t v) { return v != word; };
    // acquire: pairs with leave.
    const bool in = W::until(section, acquire, 0, Readers<P>::kChannel, deadline, left);
    if constexpr (W::kParks) row.sleepers.fetch_sub(1, relaxed);
    return in;
  }
  static bool is_mine(const Row& row) noexcept {
    const std::uint32_t token = Rows<P>::mine().token;
    return token != 0 && &Rows<P>::row_at(token) == &row;
  }
  static bool take(Row& row, Section& section, std::uint64_t domain) noexcept {
    if (Readers<P>::empty(section, domain) == 0) return false;
    wake(row, section);
    return true;
  }
  // The section, not the domain: that may be gone.
  static void wake(Row& row, Section& section) noexcept {
    if constexpr (W::kParks) {
      P::light_fence();
      if (row.sleepers.load(relaxed) != 0) [[unlikely]]
        W::wake(&section, Readers<P>::kChannel);
    }
  }
};

}  // namespace lockswap
