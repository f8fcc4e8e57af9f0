// rlu, rlu-asym: a lock over RLU's reader indicator. Readers write only to a row of their own
// thread.
//
// Paper: A. Matveev, N. Shavit, P. Felber, P. Marlier, "Read-log-update" (SOSP 2015), sections 3.2
//   to 3.4: registration, clock, quiescence; RLU-backed in D. Dice, A. Kogan, "BRAVO - Biased
//   Locking for Reader-Writer Locks" (USENIX ATC 2019), section 5.
// Idea: a reader fills a section of its row with the lock's address and clock, and checks whether a
//   writer is present. If so, it empties the section again and waits in the queue. Writers take
//   turns. The writer whose turn it is makes itself visible, waits until no section names this
//   lock, and advances the clock when it leaves.
// State (24 bytes, zero = free): a PF-T lock. Four bits of its word are for the rows (rlu_state.h).
//   PF-T's number of writers so far serves as the clock, and its queue takes the readers that meet
//   a writer or have no place in a row.
// Invariants: while a writer holds the lock, no section names it, except those of readers that are
//   about to turn back. (No P::check: a section doesn't show whether its reader will turn back. The
//   explorer finds a reader that stays, since that one is in beside the writer.)
// Fairness: PF-T's for queued readers and for writers. Readers that filled their section before a
//   writer arrived go first.
// Space: none in addition to the object, and 128 bytes per thread (rows.h). A thread has 7
//   sections, so it can hold that many locks at once. In rlu-asym a reader makes no atomic update
//   (asymmetric.h), but each write pays for a barrier on all processors that run the process.
// Deviations: there are no logs, because what a critical section does is unknown here, so readers
//   do not run concurrently with a writer. As in the BRAVO paper, only RLU's reader indicator is
//   left. A release by a thread without a record closes the rows of this lock for good, and then
//   takes any hold.
// Fork: sections stay in a child, as holds do. If a writer's hold stays, sections that name the
//   lock belong to readers that were about to turn back, and repair_after_fork() empties them.
// Destroy is safe: a reader's last access is to its row, which is never freed, or as in PF-T.
#pragma once

#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "locks/common/read_tokens.h"
#include "locks/concept.h"
#include "locks/rw/rlu_state.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "readers/asymmetric.h"
#include "readers/concept.h"
#include "readers/quiescence.h"
#include "readers/rows.h"
#include "wait/concept.h"

namespace lockswap {

// The descriptions of the two locks.
inline constexpr LockInfo kRluInfo{
    .summary =
        "RLU's reader indicator: readers write to a row of their own thread, writers look at all "
        "rows",
    .source =
        "Matveev and others 2015, sections 3.2 to 3.4; Dice and Kogan 2019, section 5, RLU-backed",
    .fairness =
        "writers first come first served; readers that entered before a writer go first, others "
        "wait in line, phase-fair",
    .kinds = kKindsAlternate,
    .aliases = {"RLU-backed"},
    .instructions = 88,
};
inline constexpr LockInfo kRluAsymInfo{
    .summary =
        "rlu whose readers make no update; each write has the kernel run a barrier (membarrier)",
    .source = "as rlu; Desnoyers and others 2012, section 5",
    .fairness = "as rlu",
    .kinds = kKindsAlternate,
    .aliases = {"RLU-backed-asym"},
    .instructions = 95,
};

template <Platform P, WaitPolicy<P> W, template <class, class> class AccessOf>
requires ReaderAccess<AccessOf<P, W>>
class RluOver {
  using State = RluState<P, W>;
  using Line = typename State::Line;
  using Access = AccessOf<P, W>;

 public:
  // Readers in their rows are not in PF-T's phases.
  static constexpr Claims kClaims{.fifo_writers = true};
  static constexpr bool kAsymmetric = Access::kAsymmetric;  // it needs the heavy fence
  static constexpr LockInfo kInfo = kAsymmetric ? kRluAsymInfo : kRluInfo;
  static constexpr bool kHasTokens = true;                           // a place in a row, or kInLine
  static constexpr std::uint32_t kNoAttempt = kMustWait | 1u << 27;  // a turn has 24 bits

  static bool prepare() noexcept { return Line::prepare() && Access::prepare(); }

  // Returns a token, or kMustWait with PF-T's phase.
  std::uint32_t read_arrive() noexcept {
    const std::uint32_t token = enter_somewhere();
    if (token < kMustWait) return token;
    const std::uint32_t phase = state_.line.read_arrive();
    return phase == 0 ? kInLine : kMustWait | PfTWord::turn(phase);
  }
  // The hot path, which uses the thread's first place. If it returns kMustWait or more, go on with
  // slow_read_arrive.
  [[gnu::always_inline]] std::uint32_t fast_read_arrive() noexcept {
    const std::uint32_t place = Rows<P>::first_place();
    return place != 0 ? fill_and_look(place) : kMustWait;
  }
  std::uint32_t slow_read_arrive(std::uint32_t attempt) noexcept {
    if (attempt > kMustWait && turn_back(attempt & ~kMustWait) == 0) return 0;
    return read_arrive();
  }
  bool read_wait(std::uint32_t& attempt, const Deadline* deadline) noexcept {
    if (!state_.line.read_wait(phase_in(attempt), deadline)) return false;
    attempt = kInLine;
    return true;
  }
  bool read_withdraw(std::uint32_t& attempt) noexcept {
    if (state_.line.read_withdraw(phase_in(attempt))) return true;
    attempt = kInLine;
    return false;
  }
  bool try_read_lock(std::uint32_t& token) noexcept {
    token = enter_somewhere();
    if (token < kMustWait) return true;
    token = kInLine;
    return state_.line.try_read_lock();
  }

  // Out of line, since hot paths have fast_read_unlock and their frames are to stay small.
  [[gnu::noinline]] bool read_unlock(std::uint32_t token) noexcept {
    if (token >= Rows<P>::kFirstToken) [[likely]]
      return vacate(token);
    if (token != kInLine) return false;
    state_.line.read_unlock();
    return true;
  }
  // The same as a hot path. Also returns false when there is more to do; then go on with
  // read_unlock.
  [[gnu::always_inline]] bool fast_read_unlock(std::uint32_t token) noexcept {
    if (token < Rows<P>::kFirstToken) [[unlikely]]
      return false;
    return Access::fast_vacate(token, state_.domain(), [this] { return state_.is_closed(); });
  }
  // Searches sections first. None is filled any more once the rows are closed, so a thread that
  // finds none has a hold of PF-T.
  bool read_unlock_any() noexcept {
    if (state_.close()) {
      if (Access::vacate_any(state_.domain())) return true;
      // release: republishes the readers just acquired; pairs with is_named, close.
      state_.word().fetch_and(~RluBits::kSectionsInUse, release);
    }
    if (!state_.line.has_readers()) return false;
    state_.line.read_unlock();
    return true;
  }

  template <DrainListener L = NobodyListens>
  void write_lock(const L& listener = {}) noexcept {
    state_.line.write_lock(listener);
    drain_rows(nullptr, listener);
  }
  template <DrainListener L = NobodyListens>
  bool write_lock_until(const Deadline* deadline, const L& listener = {}) noexcept {
    if (try_write_lock()) return true;
    if (P::passed(*deadline)) return false;  // it would turn readers back for nothing
    if (!state_.line.write_lock_until(deadline, listener)) return false;
    if (drain_rows(deadline, listener)) return true;
    listener.gave_up();
    state_.line.write_unlock();
    return false;
  }
  bool try_write_lock() noexcept {
    // Check before disturbing readers: one is reason enough to fail.
    if (state_.is_read_in_rows()) return false;
    return state_.line.try_write_lock([this] {
      if (!state_.is_named()) return true;
      Access::heavy_fence();
      return !Readers<P>::is_any(state_.domain());
    });
  }
  void write_unlock() noexcept { state_.line.write_unlock(); }

  bool has_readers() const noexcept {
    return state_.is_read_in_rows() || state_.line.has_readers();
  }
  bool has_writer() const noexcept { return state_.line.has_writer(); }
  bool too_many_readers() const noexcept { return state_.line.too_many_readers(); }
  bool idle() const noexcept { return state_.line.idle() && !state_.is_read_in_rows(); }

  // --- in a forked child; see rw_contract.h. relaxed: fork() orders what threads did.
  bool needs_no_repair(bool written) const noexcept {
    return (state_.word().load(relaxed) & RluBits::kStarting) == 0 &&
           !(written && state_.is_read_in_rows()) && state_.line.needs_no_repair(written);
  }
  void repair_after_fork(bool written) noexcept {
    state_.word().fetch_and(~RluBits::kStarting, relaxed);  // to be started again
    if (written && (state_.word().load(relaxed) & RluBits::kSectionsInUse) != 0)
      Readers<P>::drop(state_.domain());
    state_.line.repair_after_fork(written);
  }

  // Sections may be left if other threads released holds of this lock.
  void destroy() noexcept {
    if (state_.is_closed()) Readers<P>::drop(state_.domain());
  }

 private:
  static constexpr std::uint32_t kInLine = 1;  // a token
  static_assert(kInLine < Rows<P>::kFirstToken && Rows<P>::kTokens <= kMustWait);

  static std::uint32_t phase_in(std::uint32_t attempt) noexcept {
    return PfTWord::phase_of_turn(attempt & ~kMustWait);
  }

  // --- readers

  // The reader's half of the Dekker pair with PF-T's enter_phase, and with close: fill the section,
  // then check for a writer. Either the writer sees the section, or this reader sees the writer.
  // Returns a token, or kMustWait if the reader must try something else, or kMustWait and the place
  // if it must first turn back.
  [[gnu::always_inline]] std::uint32_t fill_and_look(std::uint32_t place) noexcept {
    const std::uint64_t v = state_.word().load(relaxed);  // a hint, the load below decides
    if (!State::is_open(v)) [[unlikely]]
      return kMustWait;
    if (!Access::fill(place, Rows<P>::section_word(state_.domain(), PfTWord::turn(v)))) [[unlikely]]
      return kMustWait;
    // As an acquire it pairs with write_unlock, whose release sequence others only continue.
    if (!State::is_open(state_.word().load(Access::kLook))) [[unlikely]]
      return kMustWait | place;
    if (place >= kMustWait) __builtin_unreachable();  // so callers need not ask
    return place;
  }
  std::uint32_t enter(std::uint32_t place) noexcept {
    const std::uint32_t attempt = fill_and_look(place);
    return attempt > kMustWait ? turn_back(attempt & ~kMustWait) : attempt;
  }
  // Returns kMustWait, or a token.
  std::uint32_t turn_back(std::uint32_t place) noexcept {
    if (vacate(place)) return kMustWait;
    // Another thread released a hold that was not its own, and emptied this section by mistake. The
    // hold that it meant to release is still there, so this reader inherits that one.
    return 0;
  }

  bool vacate(std::uint32_t place) noexcept {
    return Access::vacate(place, state_.domain(), [this] { return state_.is_closed(); });
  }

  // Looks for a place, and opens the lock if nobody has.
  std::uint32_t enter_somewhere() noexcept {
    const std::uint64_t v = state_.word().load(relaxed);  // a hint, or the compare-exchange decides
    if ((v & RluBits::kUserBits) == 0) state_.open(v);
    const std::uint32_t place = Rows<P>::find_place();
    return place != 0 ? enter(place) : kMustWait;
  }

  // --- writers

  // Called by the writer whose turn it is. Returns false if the deadline has passed.
  template <DrainListener L>
  bool drain_rows(const Deadline* deadline, const L& listener) noexcept {
    return !state_.is_named() || drain_named(deadline, listener);
  }
  template <DrainListener L>
  [[gnu::noinline]] bool drain_named(const Deadline* deadline, const L& listener) noexcept {
    Access::heavy_fence();
    return Access::wait(state_.domain(), deadline, [&listener] { listener.begin(); });
  }

  State state_;
};

template <Platform P, WaitPolicy<P> W>
using Rlu = RluOver<P, W, Fenced>;
template <Platform P, WaitPolicy<P> W>
using RluAsym = RluOver<P, W, Asymmetric>;

}  // namespace lockswap
