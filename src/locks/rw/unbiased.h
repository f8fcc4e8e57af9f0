// A lock without a bias, in the shape that rw_contract.h builds on. bravo.h is the other such lock.
//
// The shape is static functions over a frame (the object's layout). The state of a read acquisition
// is one number, the attempt, which fast_read keeps in a register. If fast_read did not get the
// lock, slow_read and read_wait continue from that number. Each hold has a token, which is passed
// to its release. It is the core's own token (read_tokens.h), or 0 if holds are alike.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "platform/clock.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P, RwCore Core, EventCounter Count>
struct Unbiased {
  using Frame = RwFrame<P, Core>;
  template <EventCounter Other>
  using CountedBy = Unbiased<P, Core, Other>;
  using Reads = ReadTokens<Core>;
  static constexpr bool kHasTokens = Reads::kHasTokens;
  static constexpr Claims kClaims = Core::kClaims;

  // The core's attempt: 0 or a token, or what to wait for.
  using Attempt = std::uint32_t;

  static constexpr bool kHasFast = FastReadCore<Core>;

  static bool prepare() noexcept { return Core::prepare(); }

  // If the core has a fast path, both of the contract's fast paths inline it.
  [[gnu::always_inline]] static Attempt fast_read(Frame& f) noexcept requires kHasFast {
    return counted(f, f.core.fast_read_arrive());
  }
  static Attempt fast_read(Frame& f) noexcept { return counted(f, f.core.read_arrive()); }
  // Nothing is left to try after fast_read.
  static constexpr Below read_below(Frame&, Attempt) noexcept { return Below::nothing; }
  static constexpr bool is_in(Attempt a) noexcept { return Reads::is_in(a); }
  static constexpr std::uint32_t token_of(Attempt a) noexcept { return a; }
  // Returns true if the thread holds the lock; the attempt is then its token. Otherwise go on with
  // read_wait or with read_withdraw.
  static bool slow_read(Frame& f, Attempt& a) noexcept {
    if constexpr (kHasFast) {
      a = f.core.slow_read_arrive(a);
      if (is_in(a)) Count::on(&f, Event::read);
      return is_in(a);
    }
    return false;
  }
  static bool read_wait(Frame& f, Attempt& a, const Deadline* deadline) noexcept {
    if (!Reads::wait(f.core, a, deadline)) return false;
    Count::on(&f, Event::read);
    return true;
  }
  static bool read_withdraw(Frame& f, Attempt& a) noexcept {
    if (Reads::withdraw(f.core, a)) return true;
    Count::on(&f, Event::read);
    return false;
  }
  static bool try_read_lock(Frame& f, std::uint32_t& token) noexcept {
    if (!Reads::try_lock(f.core, token)) return false;
    Count::on(&f, Event::read);
    return true;
  }
  // If it returns false, go on with slow_read_unlock.
  static bool fast_read_unlock(Frame& f, std::uint32_t token) noexcept {
    return Reads::fast_unlock(f.core, token);
  }
  // Returns false if another thread has released the hold that the token stands for.
  static bool slow_read_unlock(Frame& f, std::uint32_t token) noexcept {
    return Reads::unlock(f.core, token);
  }
  static bool release_any_slot(Frame&) noexcept { return false; }
  static bool may_have_fast_readers(const Frame&) noexcept { return false; }

  [[gnu::always_inline]] static Below fast_write(Frame& f) noexcept {
    if constexpr (FastWriteCore<Core>) {
      if (f.core.fast_write_lock()) return Below::in;
    }
    return Below::nothing;
  }
  // Goes on from Below::arrived, which is never.
  template <DrainListener L>
  static void go_on_writing(Frame&, const L&) noexcept {}
  template <DrainListener L>
  static void write_lock(Frame& f, const L& listener) noexcept {
    if constexpr (TellsOfDrains<Core>) {
      f.core.write_lock(listener);
    } else {
      f.core.write_lock();
    }
  }
  template <DrainListener L>
  static bool write_lock_until(Frame& f, const Deadline* deadline, const L& listener) noexcept {
    if constexpr (TellsOfDrains<Core>) {
      return f.core.write_lock_until(deadline, listener);
    } else {
      return f.core.write_lock_until(deadline);
    }
  }
  static bool try_write_lock(Frame& f) noexcept { return f.core.try_write_lock(); }

  // After a fork: see rw_adoption.h.
  static bool needs_no_repair(const Frame& f, bool written) noexcept {
    return f.core.needs_no_repair(written);
  }
  static void repair_after_fork(Frame& f, bool written) noexcept {
    f.core.repair_after_fork(written);
  }

 private:
  [[gnu::always_inline]] static Attempt counted(Frame& f, Attempt a) noexcept {
    if (is_in(a)) Count::on(&f, Event::read);
    return a;
  }
};

}  // namespace lockswap
