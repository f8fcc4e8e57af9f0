// Other rules for when a slow reader switches BRAVO's bias on.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019). Section 3: early prototypes switched it on
//   with a probability of 1/100. Section 6.1: with the bias never on, the kernel's lock behaved as
//   without BRAVO.
// Ideas: OneIn100 draws a random number at each slow read, and does not inhibit the bias after a
//   revocation (with UnguardedSlots). NeverBias shows the cost of BRAVO's word where it is of no
//   use.
// Deviations: OneIn100 leaves the bias off while a writer waits, as bravo_biasing.h does.
#pragma once

#include <cstdint>

#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "locks/rw/bravo_biasing.h"
#include "platform/concept.h"
#include "readers/concept.h"
#include "readers/table_slots.h"
#include "wait/concept.h"

namespace lockswap::variants {

template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
class OneIn100Biasing : public BravoBiasing<P, Core, Revocation, Slots> {
  using Base = BravoBiasing<P, Core, Revocation, Slots>;

 public:
  using typename Base::Frame;
  using typename Base::Look;

  static bool is_turn() noexcept {
    pass_turn();
    return is_drawn(state().x);
  }
  static bool is_turn_next() noexcept { return is_drawn(next(state().x)); }
  static void pass_turn() noexcept { state().x = next(state().x); }
  static Look look_around(const Frame&) noexcept { return is_turn() ? Look::met : Look::none; }

 private:
  struct State {
    std::uint32_t x;
  };
  static State& state() noexcept { return P::template local<State>(); }
  // Marsaglia's xorshift, as in the paper. Each thread begins with its own number.
  static std::uint32_t next(std::uint32_t x) noexcept {
    if (x == 0) x = P::tid() * 0x9E3779B9u | 1;
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
  }
  // Where every slow read must check the clock, as in the explorer, each one draws the number.
  static bool is_drawn(std::uint32_t x) noexcept {
    return P::reads_per_clock() == 1 || x % 100 == 0;
  }
};
struct OneIn100 {
  template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
  using Biasing = OneIn100Biasing<P, Core, Revocation, Slots>;
};
template <Platform P, WaitPolicy<P> W>
struct UnguardedSlots : TableSlots<P, W> {
  template <class Frame>
  static std::uint32_t guard(const Frame&) noexcept {
    return 0;
  }
};

template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
struct NeverBiasing : BravoBiasing<P, Core, Revocation, Slots> {
  using Base = BravoBiasing<P, Core, Revocation, Slots>;
  using typename Base::Frame;
  using typename Base::Look;

  static bool is_turn() noexcept { return false; }
  static bool is_turn_next() noexcept { return false; }
  static void pass_turn() noexcept {}
  static Look look_around(const Frame&) noexcept { return Look::none; }
  static void consider_bias(Frame&, Look) noexcept {}
};
struct NeverBias {
  template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
  using Biasing = NeverBiasing<P, Core, Revocation, Slots>;
};

}  // namespace lockswap::variants
