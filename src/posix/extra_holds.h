// Extra holds: read holds that are counted in the contract word, not in the lock below. They let a
// thread that holds a lock for reading read it again while a writer waits, and let guests in
// (guests.h).
//
// State: the number n in the contract word (rw_word.h).
// Fork: extra holds stay in the child, as all holds do.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/events.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "posix/holds.h"
#include "posix/rw_word.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Frame, EventCounter Count>
class ExtraHolds {
  using Word = RwWord<P>;

 public:
  static constexpr int kMarked = -1;

  // Adds a recursive read; `hold` is the thread's record of its first one. Returns kMarked if the
  // lock is marked, so that the record can't be trusted, and otherwise 0 or an errno.
  static int add_one(Frame& f, HoldRecord& hold) noexcept {
    std::uint64_t v = f.contract.load(relaxed);
    do {
      if ((v & Word::kMarked) != 0) return kMarked;
      if (Word::flags_in(v) >= Word::kMostExtra) return EAGAIN;
      // relaxed: this thread already holds the lock, so it sees all that an acquisition would show.
      // A thread that later releases this hold, or marks the lock, changes the same word.
    } while (!f.contract.compare_exchange(v, v + Word::kExtra, relaxed));
    ++hold.again;
    Count::on(&f, Event::read);
    Count::on(&f, Event::recursive_read);
    return 0;
  }

  // Returns false if there is no extra hold.
  static bool release_one(Frame& f) noexcept {
    // acquire: pairs with the release below. If another thread has taken the caller's extra hold,
    // the caller ends that thread's hold in the lock below instead, and has_readers must see its
    // arrival.
    std::uint64_t v, next;
    for (;;) {
      v = f.contract.load(acquire);
      if (Word::extra_in(v) == 0) return false;
      next = v - Word::kExtra;
      if (Word::extra_in(next) == 0) next &= ~Word::kSleepers;
      // release: the critical section; pairs with RwWriter::finish and shut.
      if (f.contract.compare_exchange(v, next, release)) break;
    }
    if constexpr (W::kParks) {
      if (((v ^ next) & Word::kSleepers) != 0) W::wake(&f.contract, Word::kChannel);
    }
    return true;
  }
};

}  // namespace lockswap
