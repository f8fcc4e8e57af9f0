// Waiting for the readers of one domain: RLU's quiescence.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, RLU_SYNCHRONIZE.
// Idea: whoever changed the domain so that new readers notice goes through all rows (rows.h), and
//   waits for each section that names the domain until it says something else.
// Deviations: a waiting thread sleeps, if the wait policy does; the paper's spins.
#pragma once

#include <cstdint>

#include "platform/clock.h"
#include "rlu/rows.h"

namespace lockswap {

template <class P, class W>
class Quiescence {
  using Section = typename Rows<P>::Section;
  static constexpr std::uint32_t kChannel = 1;

 public:
  // After a seq_cst change of the domain, which its readers look at when they have filled their
  // section. Calls before_wait before it waits. False: the deadline has passed (nullptr: none).
  template <class F>
  static bool wait(std::uint64_t domain, const Deadline* deadline, const F& before_wait) noexcept {
    return Rows<P>::each_of(domain, [&](Section& section, std::uint64_t word) {
      const auto left = [word](std::uint64_t now) { return ((now ^ word) & ~Rows<P>::kParked) != 0; };
      before_wait();
      // acquire: pairs with leave.
      return W::until(section, acquire, Rows<P>::kParked, kChannel, deadline, left);
    });
  }
  static bool is_read(std::uint64_t domain) noexcept {
    return !Rows<P>::each_of(domain, [](Section&, std::uint64_t) { return false; });
  }

  // Empties the section, if it names the domain. False: another thread has done so.
  static bool leave(Section& section, std::uint64_t domain) noexcept {
    std::uint64_t seen = section.load(relaxed);  // the compare-exchange decides
    while (Rows<P>::names(seen, domain)) {
      // release: the reader's critical section; pairs with wait and each_of.
      if (section.compare_exchange(seen, 0, release)) [[likely]] {
        // The section, not the domain: that may be gone.
        if ((seen & Rows<P>::kParked) != 0) [[unlikely]]
          W::wake(&section, kChannel);
        return true;
      }
    }
    // acquire: the section of who emptied it, and which hold that thread left for the caller's.
    // Pairs with the compare-exchange: a section is only changed by updates.
    section.load(acquire);
    return false;
  }
  // Empties one of them, whosever. False: there is none.
  static bool leave_any(std::uint64_t domain) noexcept {
    return !Rows<P>::each_of(domain, [domain](Section& s, std::uint64_t) { return !leave(s, domain); });
  }
  static void leave_all(std::uint64_t domain) noexcept {
    Rows<P>::each_of(domain, [domain](Section& s, std::uint64_t) {
      leave(s, domain);
      return true;
    });
  }
};

}  // namespace lockswap
