// A lock without acceleration, in the shape that recursive.h stacks on: see bravo.h for the other.
//
// The shape: static functions over a frame. A read acquisition fills in a token, which its release
// hands back; 0 says that the hold is in the core.
#pragma once

#include <cstdint>

#include "locks/rw/events.h"
#include "locks/rw/frame.h"
#include "platform/clock.h"

namespace lockswap {

template <class P, class Core, class Count>
struct Direct {
  using Frame = RwFrame<P, Core>;
  using Arrival = typename Core::Arrival;
  static constexpr bool kHasTokens = false;

  static void prepare() noexcept { Core::prepare(); }
  static void reset(Frame&) noexcept {}

  static bool read_arrive(Frame& f, Arrival& a, std::uint32_t&) noexcept {
    if (!f.core.read_arrive(a)) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_wait(Frame& f, const Arrival& a, const Deadline* deadline) noexcept {
    if (!f.core.read_wait(a, deadline)) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_withdraw(Frame& f, const Arrival& a) noexcept { return f.core.read_withdraw(a); }
  static bool try_read_lock(Frame& f, std::uint32_t&) noexcept {
    if (!f.core.try_read_lock()) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_unlock(Frame& f, std::uint32_t) noexcept {
    f.core.read_unlock();
    return true;
  }
  static bool release_any_slot(Frame&) noexcept { return false; }

  static bool write_lock(Frame& f, const Deadline* deadline) noexcept {
    return f.core.write_lock(deadline);
  }
  static bool try_write_lock(Frame& f) noexcept { return f.core.try_write_lock(); }
};

}  // namespace lockswap
