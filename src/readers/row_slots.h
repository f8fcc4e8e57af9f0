// Where the readers of bravo-asym-* publish themselves: in sections of their own thread's row.
//
// Paper: the table of BRAVO (table_slots.h, whose shape this has), as rows of Read-log-update
//   (rows.h).
// Idea: a plain store into a shared slot might overwrite another thread's. A row belongs to one
//   thread, so its reader publishes itself by a store, and leaves by a store (asymmetric.h); the
//   revoker has the kernel run a barrier before it scans the rows.
// Deviations: no hash and no collisions; a thread has as many slots as it has sections. A revoker
//   scans as many rows as there were threads at once, not a whole table, and pays for the barrier.
#pragma once

#include <cstdint>

#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/asymmetric.h"
#include "readers/quiescence.h"
#include "readers/readers_table.h"
#include "readers/rows.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W>
class RowSlots {
  using Access = Asymmetric<P, W>;

 public:
  static bool prepare() noexcept { return Access::prepare(); }

  template <class Frame>
  [[gnu::always_inline]] static std::uint32_t fill(const Frame& f) noexcept {
    const std::uint32_t first = Rows<P>::first_place();
    return first != 0 && Access::fill(first, word_of(f)) ? first : 0;
  }
  template <class Frame>
  static std::uint32_t fill_elsewhere(const Frame& f) noexcept {
    const std::uint32_t place = Rows<P>::find_place();
    return place != 0 && Access::fill(place, word_of(f)) ? place : 0;
  }
  static constexpr Order kLook = Access::kLook;

  template <class Frame, class Closed>
  static bool vacate(const Frame& f, std::uint32_t token, const Closed& closed) noexcept {
    return Access::vacate(token, domain_of(f), closed);
  }
  template <class Frame, class Closed>
  [[gnu::always_inline]] static bool fast_vacate(const Frame& f, std::uint32_t token,
                                                 const Closed& closed) noexcept {
    return Access::fast_vacate(token, domain_of(f), closed);
  }

  static constexpr bool kHasHeavyFence = true;
  static void heavy_fence() noexcept { Access::heavy_fence(); }

  template <class Frame, class F>
  static bool wait(const Frame& f, const Deadline* deadline, const F& before_wait) noexcept {
    return Access::wait(domain_of(f), deadline, before_wait);
  }
  template <class Frame>
  static bool is_any(const Frame& f) noexcept {
    return Readers<P>::is_any(domain_of(f));
  }
  template <class Frame>
  static bool vacate_any(const Frame& f) noexcept {
    return Access::vacate_any(domain_of(f));
  }
  template <class Frame>
  static void drop(const Frame& f) noexcept {
    Readers<P>::drop(domain_of(f));
  }

  template <class Frame>
  static std::uint32_t guard(const Frame&) noexcept {
    return P::template global<ReadersTable<P>>().guard;
  }

 private:
  // Not the lock's address, which is the domain of the inner lock's readers in bravo-asym-rlu.
  template <class Frame>
  static std::uint64_t domain_of(const Frame& f) noexcept {
    return reinterpret_cast<std::uintptr_t>(&f.bias);
  }
  // No clock is needed: a reader that arrives while a revoker waits does not stay.
  template <class Frame>
  static std::uint64_t word_of(const Frame& f) noexcept {
    return Rows<P>::section_word(domain_of(f), 0);
  }
};

}  // namespace lockswap
