// Read holds of a core, whether or not they have tokens of their own.
// (AlikeHolds and TokenHolds in locks/concept.h).
#pragma once

#include <cstdint>

#include "locks/concept.h"
#include "platform/clock.h"

namespace lockswap {

// In an attempt of a core with tokens: it did not get the lock. Numbers below are tokens.
inline constexpr std::uint32_t kMustWait = 1u << 28;

template <ReadHolds Core>
struct ReadTokens {
  static constexpr bool kHasTokens = TokenHolds<Core>;

  static constexpr bool is_in(std::uint32_t attempt) noexcept {
    return kHasTokens ? attempt < kMustWait : attempt == 0;
  }
  // Returns whether the attempt has got the lock. If not, it still stands.
  static bool wait(Core& core, std::uint32_t& attempt, const Deadline* deadline) noexcept {
    const bool in = core.read_wait(attempt, deadline);
    if constexpr (!kHasTokens) attempt = in ? 0 : attempt;
    return in;
  }
  // Returns false if the attempt has got the lock after all.
  static bool withdraw(Core& core, std::uint32_t& attempt) noexcept {
    const bool out = core.read_withdraw(attempt);
    if constexpr (!kHasTokens) attempt = out ? attempt : 0;
    return out;
  }
  static bool try_lock(Core& core, std::uint32_t& token) noexcept {
    if constexpr (kHasTokens) {
      return core.try_read_lock(token);
    } else {
      token = 0;
      return core.try_read_lock();
    }
  }
  // Inline, because this is also fast_unlock of a core without a fast release.
  [[gnu::always_inline]] static bool unlock(Core& core, std::uint32_t token) noexcept {
    if constexpr (kHasTokens) {
      return core.read_unlock(token);
    } else {
      core.read_unlock();
      return true;
    }
  }
  // If it returns false, go on with unlock.
  [[gnu::always_inline]] static bool fast_unlock(Core& core, std::uint32_t token) noexcept {
    if constexpr (FastReadCore<Core>) {
      return core.fast_read_unlock(token);
    } else {
      return unlock(core, token);
    }
  }
  static bool unlock_any(Core& core) noexcept {
    if constexpr (kHasTokens) {
      return core.read_unlock_any();
    } else {
      if (!core.has_readers()) return false;
      core.read_unlock();
      return true;
    }
  }
};

}  // namespace lockswap
