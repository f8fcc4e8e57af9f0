// A lock without acceleration, in the shape that recursive.h stacks on: see bravo.h for the other.
//
// The shape: static functions over a frame. A read begins with an attempt, one number that the hot
// path keeps in a register; if that did not do, it goes on with read_continue and read_wait. The
// token of a hold goes to its release; 0 says that the hold is in the core.
#pragma once

#include <cstdint>

#include "locks/rw/claims.h"
#include "locks/rw/events.h"
#include "locks/rw/frame.h"
#include "platform/clock.h"

namespace lockswap {

template <class P, class Core, class Count>
struct Direct {
  using Frame = RwFrame<P, Core>;
  static constexpr bool kHasTokens = false;
  static constexpr Claims kClaims = Core::kClaims;

  // 0, or the phase to wait for.
  using Attempt = std::uint32_t;

  static bool prepare() noexcept { return Core::prepare(); }

  static Attempt read_begin(Frame& f) noexcept {
    const Attempt a = f.core.read_arrive();
    if (a == 0) Count::on(&f, Event::read);
    return a;
  }
  static constexpr bool is_in(Attempt a) noexcept { return a == 0; }
  static constexpr std::uint32_t token_of(Attempt) noexcept { return 0; }
  static bool read_continue(Frame&, Attempt&) noexcept { return false; }
  static bool read_wait(Frame& f, Attempt a, const Deadline* deadline) noexcept {
    if (!f.core.read_wait(a, deadline)) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_withdraw(Frame& f, Attempt a) noexcept { return f.core.read_withdraw(a); }
  static bool try_read_lock(Frame& f, std::uint32_t&) noexcept {
    if (!f.core.try_read_lock()) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_unlock(Frame& f, std::uint32_t) noexcept {
    f.core.read_unlock();
    return true;
  }
  static bool read_unlock_fast(Frame& f, std::uint32_t token) noexcept {
    return read_unlock(f, token);
  }
  static bool release_any_slot(Frame&) noexcept { return false; }
  static bool may_have_fast_readers(const Frame&) noexcept { return false; }

  static void write_lock(Frame& f) noexcept { f.core.write_lock(); }
  static bool write_lock_until(Frame& f, const Deadline* deadline) noexcept {
    return f.core.write_lock_until(deadline);
  }
  static bool try_write_lock(Frame& f) noexcept { return f.core.try_write_lock(); }

  // After a fork; see recursive.h.
  static bool is_tidy(const Frame& f, bool written) noexcept { return f.core.is_tidy(written); }
  static void clear_up(Frame& f, bool written) noexcept { f.core.clear_up(written); }
};

}  // namespace lockswap
