// Decides who pays for the order between a section's begin and a commit: each commit, by a barrier
// on all processors, or each section, by a fence of its own.
//
// Paper: none; Matveev and others ("Read-log-update", SOSP 2015) have a fence in each section.
// Idea: the pair of clock_rows.h needs a fence on both sides. P::barrier_in_all puts one into every
//   section, which costs a commit some 12 us and a section nothing. A fence costs a section some
//   5 ns and a commit next to nothing. So sections have fences while commits are frequent.
// State: `on_`: whether sections have fences. It is changed only in the turn of a time
//   (commit_clock.h), so changes and commits have one order, in which each commit takes one way.
// Invariants: a commit does without the barrier only if `on_` was set in its turn. A section that
//   has not seen `on_` set is seen by that commit, or reads nothing that it changes:
//     - before it was set: the barrier of that turn put a fence into the section, behind its word
//     - since it was cleared: that turn came after the commit's, so the section, which has acquired
//       it, goes by a later time than the commit's
// When: the time that kCommits commits take shows how frequent they are. If commits have stopped,
//   sections notice it, because each thread checks the time at every kFences-th fence (section.h).
// If the kernel refuses barriers, visits of all processors replace them (platform/barrier.h). These
//   are expensive, so sections have fences from then on.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap::rlu {

template <Platform P>
class SectionFence {
 public:
  // A section checks this between the store of its word and the load of the clock.
  [[gnu::always_inline]] bool is_on() const noexcept {
    return on_.load(acquire) != 0;  // pairs with turn_off
  }
  // For sections that are inlined in programs (lockswap/rlu_inline.h): 32 bits, 0 if it is off.
  constexpr const void* word() const noexcept { return &on_; }

  // --- called in a commit's turn, with its time. Returns whether it does without the barrier.
  bool in_turn(std::uint64_t time) noexcept {
    // relaxed, all but the store of turn_off: turns hand it on. `refused_` is a hint.
    if (refused_.load(relaxed) != 0) {
      if (on_.load(relaxed) == 0) turn_on();
    } else if (time % kCommits == 0) {
      look();
    }
    return on_.load(relaxed) != 0;
  }
  // The same for another thread, if commits have become rare.
  void turn_off() noexcept {
    if (refused_.load(relaxed) == 0) on_.store(0, release);  // pairs with is_on
  }
  void turn_on() noexcept {
    on_.store(1, relaxed);
    barrier();
  }
  // A hint, for threads in no turn.
  bool is_rarely_needed() const noexcept {
    if (refused_.load(relaxed) != 0) return false;  // turn_off would do nothing
    // relaxed: a hint. A commit may have looked at the clock since.
    const std::uint64_t since = since_.load(relaxed), now = P::now();
    return now > since && now - since > kCommits * kRare;
  }

  // --- called by a commit that needs the barrier
  void barrier() noexcept {
    if (!P::barrier_in_all()) refused_.store(1, relaxed);
  }

 private:
  static constexpr std::uint64_t kCommits = 64;
  // Nanoseconds from one commit to the next. At kFrequent, a barrier for each commit takes about a
  // quarter of a processor. The fences of one thread cost that much only if its sections hardly do
  // anything else.
  static constexpr std::uint64_t kFrequent = 100'000;
  static constexpr std::uint64_t kRare = 1'000'000;

  void look() noexcept {
    const std::uint64_t now = P::now(), before = since_.load(relaxed);
    since_.store(now, relaxed);
    if (on_.load(relaxed) != 0) {
      if (now - before > kCommits * kRare) turn_off();
    } else if (before != 0 && now - before < kCommits * kFrequent) {
      turn_on();
    }
  }

  typename P::template atomic<std::uint32_t> on_{};
  typename P::template atomic<std::uint32_t> refused_{};  // the kernel has refused a barrier
  typename P::template atomic<std::uint64_t> since_{};    // when a commit last looked at the time
};

}  // namespace lockswap::rlu
