// The writers of the cohort locks (cohort.h): how they get the lock from each other, and from the
// readers.
//
// Idea: a writer takes the cohort mutex, makes itself visible, so that new readers turn back, and
//   waits until no reader is counted in at any node. The three locks differ in two numbers:
//   kWriters   how many writers go in a row while readers wait, before the readers get their turn
//   kPatience  how many times a writer lets later readers overtake it
//   If kPatience is 0, a leaving writer keeps kPresent set for the next that waits for the mutex.
// State: `state` in the block's head
//   bit 0      kPresent: a writer is present
//   bit 1      kSleepers: a thread sleeps until kPresent is cleared
//   bit 2      kWriterSleeps: the writer with the mutex sleeps until kTurn is over
//   bit 3      kTurn: waiting readers go first
//   bits 4..8  how many writers have held the lock since readers began to wait
//   bit 9      kTrying: a writer in a trylock has the mutex, and checks for readers
//   bits 10..  how many readers wait
// Invariants: only the holder of the mutex sets kPresent, kTurn and kTrying. The last reader that
//   waited clears kTurn, and a reader that meets kTrying clears that.
// A trylock must not fail because of a reader that backs out on account of that trylock. So the
//   writer sets kTrying, checks for readers, and then turns kTrying into kPresent. A reader that
//   sees kTrying clears it, so whichever of the two updates the word first gets the lock.
#pragma once

#include <cstdint>

#include "locks/common/cohorting.h"
#include "locks/common/side_block.h"
#include "locks/common/ticket_lock.h"
#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/all_readers.h"
#include "readers/reader_indicator.h"
#include "wait/concept.h"

namespace lockswap {

// Each takes two cache lines, because processors fetch lines in pairs.
template <Platform P, class Global>
struct alignas(128) CohortRwHead : BlockStart<P> {
  typename P::template atomic<std::uint32_t> state;
  typename P::template atomic<std::uint32_t> node;
  ReadersAwaited<P> awaited;
  alignas(128) Global global;
};
template <Platform P, class Local>
struct alignas(128) CohortRwPart {
  ReaderIndicator<P> readers;
  alignas(128) Local local;
};

template <Platform P, WaitPolicy<P> W, std::uint32_t kWriters, std::uint32_t kPatience>
class CohortWriters {
 public:
  using Mutex = Cohorting<P, TicketLock<P, W>, TicketLock<P, W>, P::kMostInARow>;
  using Head = CohortRwHead<P, TicketLock<P, W>>;
  using Part = CohortRwPart<P, typename Mutex::Node>;
  using Blocks = typename P::template blocks<Head, Part>;
  using Readers = AllReaders<P, W, Head, Blocks>;

  static constexpr std::uint32_t kPresent = 1;
  static constexpr std::uint32_t kSleepers = 2;
  static constexpr std::uint32_t kWriterSleeps = 4;
  static constexpr std::uint32_t kTurn = 8;
  static constexpr std::uint32_t kPass = 1u << 4;
  static constexpr std::uint32_t kPasses = 31u << 4;
  static constexpr std::uint32_t kTrying = 1u << 9;
  static constexpr std::uint32_t kWaiter = 1u << 10;
  static_assert(kWriters != 0 && (kWriters - 1) * kPass <= kPasses);
  // Channels of the futex on `state`: until kPresent is clear, until kTurn is clear.
  static constexpr std::uint32_t kOverChannel = 1;
  static constexpr std::uint32_t kTurnChannel = 2;

  static bool nobody_present(std::uint32_t v) noexcept { return (v & kPresent) == 0; }
  static bool nobody_seen(std::uint32_t v) noexcept { return (v & (kPresent | kTrying)) == 0; }

  static void take_mutex(Head& h) noexcept {
    const std::uint32_t node = P::node();
    Mutex::lock(h.global, Blocks::part(h, node).local);
    h.node.store(node, relaxed);  // the holder's own
  }
  static bool try_mutex(Head& h) noexcept {
    if (!h.global.try_lock()) return false;
    h.node.store(kNoLocalLock, relaxed);  // the holder's own
    return true;
  }

  // Called with the mutex held. Returns false if the deadline has passed.
  template <DrainListener L>
  static bool get_in(Head& h, const Deadline* deadline, const L& listener) noexcept {
    for (std::uint32_t n = kPatience; n != 0; --n) {
      if (Readers::none(h)) {
        if (!appear(h, deadline)) return false;
        if (Readers::none(h)) return true;
        disappear(h);
      }
      if (!Readers::wait_for_some(h, deadline)) return false;
    }
    return appear(h, deadline) && drain(h, deadline, listener);
  }

  // Makes the writer present, so that new readers wait, after the waiting readers have had their
  // turn. Returns false if the deadline has passed.
  static bool appear(Head& h, const Deadline* deadline) noexcept {
    // relaxed: the mutex synchronises with the previous writer, so kPresent is as that one left it.
    P::check([&h] { return !h.global.idle(); });
    for (std::uint32_t v = h.state.load(relaxed); (v & kPresent) == 0; v = h.state.load(relaxed)) {
      if ((v & kTurn) != 0) {
        const auto over = [](std::uint32_t now) { return (now & kTurn) == 0; };
        if (!W::until(h.state, relaxed, kWriterSleeps, kTurnChannel, deadline, over)) return false;
      } else if (h.state.compare_exchange(v, v | kPresent, seq_cst)) {
        // seq_cst: a Dekker pair with `enter` of cohort.h; either the reader sees this writer, or
        // this writer sees the arrival.
        break;
      }
    }
    return true;
  }

  // Called with the mutex held, by a trylock.
  static bool try_to_appear(Head& h) noexcept {
    P::check([&h] { return !h.global.idle(); });
    std::uint32_t v = h.state.load(relaxed);  // as in appear
    do {
      if ((v & (kPresent | kTurn)) != 0) return false;
      // seq_cst: a Dekker pair with `enter` of cohort.h, as in appear.
    } while (!h.state.compare_exchange(v, v | kTrying, seq_cst));
    if (!Readers::none(h)) return false;
    v = h.state.load(relaxed);  // the compare-exchange decides
    while ((v & kTrying) != 0) {
      // relaxed: Readers::none() has synchronised with earlier readers, the mutex with writers.
      if (h.state.compare_exchange(v, v ^ (kTrying | kPresent), relaxed)) return true;
    }
    return false;
  }

  // Readers that came meanwhile go first.
  static void disappear(Head& h) noexcept {
    // relaxed: nothing was done, and the RMW continues earlier writers' release sequence.
    wake_readers(h, h.state.fetch_and(~(kPresent | kSleepers), relaxed));
  }
  static void wake_readers(Head& h, std::uint32_t before) noexcept {
    if constexpr (W::kParks) {
      if ((before & kSleepers) != 0) W::wake(&h.state, kOverChannel);
    }
  }

  template <DrainListener L>
  static bool drain(Head& h, const Deadline* deadline, const L& listener) noexcept {
    if (Readers::none(h)) [[likely]]
      return true;
    listener.begin();
    return Readers::wait_for_all(h, deadline);
  }

  static void release_writer(Head& h) noexcept {
    const std::uint32_t node = h.node.load(relaxed);
    typename Mutex::Node* const local =
        node == kNoLocalLock ? nullptr : &Blocks::part(h, node).local;
    P::check([&h] { return !h.global.idle(); });
    const bool wanted = Mutex::contended(h.global, local);
    std::uint32_t v = h.state.load(relaxed), next;
    do {
      // relaxed: flags; the compare-exchange finds out what has changed.
      const std::uint32_t passes = v < kWaiter ? 0 : (v & kPasses) + kPass;
      const bool is_turn = passes >= kWriters * kPass;
      next = v & ~(kPasses | kTrying);
      if (!wanted || is_turn || kPatience != 0) next &= ~(kPresent | kSleepers);
      next |= is_turn ? kTurn : passes;
      // release: the critical section; pairs with the load in `enter` of cohort.h. The next writer
      // synchronises through the mutex.
    } while (!h.state.compare_exchange(v, next, release));
    wake_readers(h, v & ~next);
    Mutex::unlock(h.global, local);
  }

  static bool mutex_is_free(Head& h) noexcept {
    for (std::uint32_t i = 0; i < Blocks::parts(); ++i) {
      if (!Blocks::part(h, i).local.lock.idle()) return false;
    }
    return h.global.idle();
  }

 private:
  static constexpr std::uint32_t kNoLocalLock = ~0u;  // the holder of the mutex has no local lock
};

}  // namespace lockswap
