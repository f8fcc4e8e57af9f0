// How a reader that holds the underlying lock switches on BRAVO's bias (bravo.h).
//
// Paper: at the end of listing 1's Reader, a slow reader that finds the bias off, and the clock
//   past InhibitUntil, switches it on. Here it first checks three more things: whether threads
//   share this lock, whether a writer waits, and whether it is this thread's turn to read the clock
//   (Look).
#pragma once

#include <cstdint>

#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "locks/rw/bias_word.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "readers/concept.h"

namespace lockswap {

template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
struct BravoBiasing {
  using Frame = RwFrame<P, Core>;
  using Word = BiasWord;

  // Says whether a slow reader may read the clock, to find out if the bias may be switched on. That
  // costs more than a read, so a thread does it only at every 64th slow read (P::reads_per_clock).
  // It also must have met another thread at this lock, or threads must take turns with it
  // (is_shared). A lock that nobody shares needs no bias, and a thread that is alone must not be
  // killed where the clock is forbidden (PR_SET_TSC).
  enum class Look : std::uint8_t { none, alone, met };
  static bool is_turn() noexcept {
    return (++P::template local<SlowReads>().n & (P::reads_per_clock() - 1)) == 0;
  }
  // For a reader that considers the bias only in its turn: is_turn_next says whether the next slow
  // read is one, and pass_turn counts one that was not.
  static bool is_turn_next() noexcept {
    return ((P::template local<SlowReads>().n + 1) & (P::reads_per_clock() - 1)) == 0;
  }
  static void pass_turn() noexcept { ++P::template local<SlowReads>().n; }
  // Before the reader arrives.
  static Look look_around(const Frame& f) noexcept {
    if (!is_turn()) return Look::none;
    // relaxed: a hint. Only an inhibited bias asks for the clock.
    const std::uint64_t bias = f.bias.load(relaxed);
    const bool asks = bias != 0 && (bias & (Word::kOn | Word::kSlotsInUse | Word::kEnded)) == 0;
    return asks && has_readers(f) ? Look::met : Look::alone;
  }
  // True if this core's read_arrive does nothing, and its read_wait everything.
  static constexpr bool kArrivesLater = GuessesReaders<Core>;
  static bool has_readers(const Frame& f) noexcept {
    if constexpr (GuessesReaders<Core>) {
      return f.core.seems_read();
    } else {
      return f.core.has_readers();
    }
  }

  // For P::check. A core that only guesses can't tell more.
  static bool is_read(const Frame& f) noexcept { return GuessesReaders<Core> || has_readers(f); }

  // Called by a reader that holds the underlying lock. Perhaps switches the bias on.
  static void consider_bias(Frame& f, Look look) noexcept {
    Revocation::check_bias(f);
    std::uint64_t bias = f.bias.load(relaxed);
    if ((bias & (Word::kOn | Word::kEnded)) != 0) return;
    std::uint64_t on = (bias & ~Word::kTrying) | Word::kOn;  // for a suspended bias
    if ((bias & Word::kSlotsInUse) == 0) {
      if (look == Look::none) return;
      std::uint64_t now = 0;  // for an unused lock: since ever
      if (bias != 0) {
        if (look != Look::met && !is_shared(f, bias)) return;
        now = P::now();
        if (!inhibit(f, bias, now) || !Word::may_start(bias, now)) return;
      }
      on = Word::on_since(now, bias);
    }
    // A writer that waits already would revoke the bias at once, and readers would have bypassed it
    // for nothing.
    if (f.core.has_writer()) return;
    if (bias == 0 && !start(f, bias)) return;
    // release: republishes what this reader acquired with the underlying lock from writers; pairs
    // with recheck_bias. Fails if another reader was faster, or the bias has ended.
    if (!f.bias.compare_exchange(bias, on, release)) return;
    P::check([&f] { return is_read(f); });
    if (f.core.has_writer()) Revocation::suspend(f);
  }
  // Notes in the word that this thread was here. Returns whether threads take turns; false also if
  // another thread was faster or is emptying slots (start).
  static bool is_shared(Frame& f, std::uint64_t& bias) noexcept {
    if (bias == Word::kStarting) return false;
    const std::uint64_t visited = Word::visited(bias, P::tid());
    // relaxed: a hint.
    if (visited != bias && !f.bias.compare_exchange(bias, visited, relaxed)) return false;
    bias = visited;
    return Word::is_shared(bias);
  }
  // Turns a revoked bias into an inhibited one, as if its revocation had ended now. Returns false
  // if another thread was faster.
  static bool inhibit(Frame& f, std::uint64_t& bias, std::uint64_t now) noexcept {
    if (!Word::is_revoked(bias)) return true;
    const std::uint64_t until = Word::inhibited(bias, now, Revocation::glance(), Slots::guard(f));
    // relaxed: affects only when the bias is tried again.
    if (!f.bias.compare_exchange(bias, until, relaxed)) return false;
    bias = until;
    return true;
  }

  // Called before the bias is switched on for the first time. Drops slots that an earlier lock left
  // at this address. Returns false if another thread does so.
  [[gnu::noinline]] static bool start(Frame& f, std::uint64_t& bias) noexcept {
    // relaxed: it only keeps others off; switching the bias on publishes what they need.
    if (!f.bias.compare_exchange(bias, Word::kStarting, relaxed)) return false;
    bias = Word::kStarting;
    Slots::drop(f);
    return true;
  }

  struct SlowReads {
    std::uint32_t n;
  };
};

// The same rule as a policy for Bravo.
struct InhibitedBias {
  template <Platform P, RwCore Core, class Revocation, ReaderSlots<RwFrame<P, Core>> Slots>
  using Biasing = BravoBiasing<P, Core, Revocation, Slots>;
};

}  // namespace lockswap
