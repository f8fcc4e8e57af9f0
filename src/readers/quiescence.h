// Waiting for the readers of one domain, which is RLU's quiescence.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.4, RLU_SYNCHRONIZE.
// Idea: a thread that has changed the domain, so that new readers notice, scans all rows (rows.h),
//   and waits for each section that names the domain until the section changes.
// Deviations: a waiting thread sleeps if the wait policy does, whereas the paper's spins.
//
// How a reader fills and vacates its section, and so how others see it, is one of two policies,
// each a ReaderAccess (readers/concept.h): Fenced, here, or Asymmetric (asymmetric.h).
#pragma once

#include <cstdint>

#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/rows.h"
#include "wait/concept.h"

namespace lockswap {

// The part that does not depend on how readers fill and vacate sections.
template <Platform P>
struct Readers {
  using Section = typename Rows<P>::Section;
  static constexpr std::uint32_t kChannel = 1;

  static bool is_any(std::uint64_t domain) noexcept {
    return !Rows<P>::each_of(domain, [](std::uint32_t, std::uint64_t) { return false; });
  }
  // Empties all sections that name the domain, whose threads no longer exist.
  static void drop(std::uint64_t domain) noexcept {
    Rows<P>::each_of(domain, [domain](std::uint32_t place, std::uint64_t) {
      empty(Rows<P>::at(place), domain);
      return true;
    });
  }
  // Empties the section and returns its old word, or 0 if it no longer names the domain.
  static std::uint64_t empty(Section& section, std::uint64_t domain) noexcept {
    std::uint64_t seen = section.load(relaxed);  // the compare-exchange rechecks
    while (Rows<P>::names(seen, domain)) {
      // release: publishes the reader's critical section; pairs with wait and each_of.
      if (section.compare_exchange(seen, 0, release)) [[likely]]
        return seen;
    }
    // acquire: the thread that emptied it left its hold to the caller, which must see what preceded
    // that. Pairs with the compare-exchange, whose release sequence later RMWs continue.
    section.load(acquire);
    return 0;
  }
};

// The reader pays: it fills its section by a seq_cst RMW, and empties it by an RMW that also tells
// whether a thread sleeps on the section.
template <Platform P, WaitPolicy<P> W>
class Fenced {
  using Section = typename Rows<P>::Section;

 public:
  static constexpr bool kAsymmetric = false;
  static bool prepare() noexcept { return true; }

  static bool fill(std::uint32_t place, std::uint64_t word) noexcept {
    std::uint64_t empty = 0;
    // seq_cst: the reader's half of a Dekker pair, which is to fill, then to load the domain
    // (kLook). The writer changes the domain, then loads the sections (Rows::each_of).
    return Rows<P>::at(place).compare_exchange(empty, word, seq_cst);
  }
  static constexpr Order kLook = seq_cst;
  template <class Closed>
  static bool vacate(std::uint32_t place, std::uint64_t domain, const Closed&) noexcept {
    return vacate(Rows<P>::at(place), domain);
  }
  template <class Closed>
  [[gnu::always_inline]] static bool fast_vacate(std::uint32_t place, std::uint64_t domain,
                                                 const Closed&) noexcept {
    Section& section = Rows<P>::at(place);
    std::uint64_t seen = section.load(relaxed);  // the compare-exchange rechecks
    // release: as in Readers::empty.
    if (!Rows<P>::names(seen, domain) || !section.compare_exchange(seen, 0, release)) [[unlikely]]
      return false;
    return (seen & Rows<P>::kSleepers) == 0 || wake(section);
  }

  static void heavy_fence() noexcept {}
  template <class F>
  static bool wait(std::uint64_t domain, const Deadline* deadline, const F& before_wait) noexcept {
    return Rows<P>::each_of(domain, [&](std::uint32_t place, std::uint64_t word) {
      before_wait();
      return wait_for(Rows<P>::at(place), word, deadline);
    });
  }
  static bool vacate_any(std::uint64_t domain) noexcept {
    return !Rows<P>::each_of(domain, [domain](std::uint32_t place, std::uint64_t) {
      return !vacate(Rows<P>::at(place), domain);
    });
  }

 private:
  static bool wait_for(Section& section, std::uint64_t word, const Deadline* deadline) noexcept {
    const auto left = [word](std::uint64_t v) { return ((v ^ word) & ~Rows<P>::kSleepers) != 0; };
    // acquire: pairs with Readers::empty.
    return W::until(section, acquire, Rows<P>::kSleepers, Readers<P>::kChannel, deadline, left);
  }
  static bool vacate(Section& section, std::uint64_t domain) noexcept {
    const std::uint64_t was = Readers<P>::empty(section, domain);
    if ((was & Rows<P>::kSleepers) != 0) [[unlikely]]
      wake(section);
    return was != 0;
  }
  // Wakes by the section, not the domain, which may no longer exist.
  [[gnu::noinline]] static bool wake(Section& section) noexcept {
    W::wake(&section, Readers<P>::kChannel);
    return true;
  }
};

}  // namespace lockswap
