// Which process an object was last used in: so that a forked child, in which the threads that
// waited for it do not exist, clears it up before it uses it.
//
// The object has a word with the stamp of the process that adopted it (P::process) in bits 31 to
// 39; what else is in it is the owner's. 0: fresh memory, adopted by nobody. While a thread of the
// child clears up, the stamp is without its highest bit, and others wait.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"

namespace lockswap {

template <Platform P>
class Adoption {
 public:
  using Word = typename P::template atomic<std::uint64_t>;

  static std::uint64_t stamp_in(std::uint64_t v) noexcept { return v & P::kStampMask; }

  // By this process; whatever else is in the word. `rest`: what that may be.
  [[gnu::always_inline]] static bool is_done(const Word& word, std::uint64_t rest) noexcept {
    // acquire: pairs with the release in adopt.
    return P::is_process(word.load(acquire) & ~rest);
  }

  // Every use of an object that is not adopted begins here. Several threads may find it at once.
  //   fresh           what the word of a new object is, but for the stamp
  //   needs_no_repair(v)      nothing is in the object that must go; changes nothing. v: the word.
  //   Other
  //                   threads may have adopted the object already and be using it
  //   repair_after_fork(v)     no other thread is at it; at each step what is left says the same,
  //   if the
  //                   process forks again
  template <class IsTidy, class ClearUp>
  static void adopt(Word& word, std::uint64_t fresh, const IsTidy& needs_no_repair,
                    const ClearUp& repair_after_fork) noexcept {
    const std::uint64_t mine = P::process();
    const std::uint64_t at_it = mine & ~P::kStampTop;
    for (;;) {
      std::uint64_t v = word.load(acquire);  // as in is_done
      if (stamp_in(v) == mine) return;
      if (stamp_in(v) == at_it) {
        // relaxed: the next round acquires.
        P::await(Pause::nap, word, relaxed,
                 [at_it](std::uint64_t now) { return stamp_in(now) != at_it; });
        continue;
      }
      // relaxed, all: what is in the object was handed on by the fork, or it is new.
      const std::uint64_t rest = v & ~P::kStampMask;
      if (v == 0) {
        if (word.compare_exchange(v, mine | fresh, relaxed)) return;
      } else if (needs_no_repair(v)) {
        if (word.compare_exchange(v, mine | rest, relaxed)) return;
      } else if (P::is_shared(&word)) {
        return;  // who waits may be a thread of another process
      } else {
        // A handler that met the object meanwhile would wait for the thread that it interrupted.
        const typename P::NoSignals blocked;
        if (!word.compare_exchange(v, at_it | rest, relaxed)) continue;
        repair_after_fork(v);
        word.store(mine | rest, release);  // pairs with is_done
        return;
      }
    }
  }
};

}  // namespace lockswap
