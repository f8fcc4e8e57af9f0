// Marked locks: a lock is marked when a thread releases a read hold of which it has no record.
//
// Why: the thread that acquired the hold still has the record, which is now wrong, and no thread
//   knows whose record that is.
// Idea: on a marked lock no record is trusted, and all read holds are equal.
//   A reader takes a hold of the lock below if it can get one at once. Otherwise it takes an extra
//   hold, unless a writer is active. So a thread that reads again never waits for itself.
//   A release ends any hold, in this order:
//     1. a slot of BRAVO's readers; there will be no new ones, since the bias has ended
//     2. an extra hold
//     3. a hold of the lock below
//   A release that finds neither 1 nor 2 has its own hold in the lock below.
//   A writer bars new extra holds in the contract word: rw_writer.h.
// State: the contract word; rw_word.h has the table.
// Fairness: readers first, as under glibc's default lock.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "posix/extra_holds.h"
#include "posix/patience.h"
#include "posix/rw_word.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Lock, EventCounter Count>
class Marked {
  using Frame = typename Lock::Frame;
  using Word = RwWord<P>;
  using Extra = ExtraHolds<P, W, Frame, Count>;
  using Reads = ReadTokens<decltype(Frame::core)>;

 public:
  // Called by a thread that releases a hold without a record.
  static void mark(Frame& f) noexcept {
    if (Word::is_marked(f)) return;
    Word::generations().dispute(Word::generation_in(f.contract.load(relaxed)));
    // release: a thread that sees the mark also sees the arrival of the hold that is being
    // released; pairs with ExtraHolds::release_one.
    f.contract.fetch_or(Word::kMarked, release);
  }

  static int read_lock(Frame& f, Patience patience) noexcept {
    std::uint32_t token;  // ignored: no release trusts it
    for (;;) {
      if (f.core.too_many_readers()) return EAGAIN;
      if (Reads::try_lock(f.core, token)) break;
      // relaxed: only this thread can have stored its own id.
      if (f.writer.load(relaxed) == P::tid()) {
        return patience.only_try ? busy<Count>(&f) : EDEADLK;
      }
      std::uint64_t v = f.contract.load(relaxed);
      if ((v & Word::kActive) == 0) {
        if (Word::flags_in(v) >= Word::kMostExtra) return EAGAIN;
        // acquire: pairs with the release in RwWriter::open by the last writer.
        if (f.contract.compare_exchange(v, v + Word::kExtra, acquire)) break;
        continue;
      }
      if (patience.only_try) return busy<Count>(&f);
      const auto open = [](std::uint64_t now) { return (now & Word::kActive) == 0; };
      // relaxed: the next round acquires.
      if (!W::until(f.contract, relaxed, Word::kSleepers, Word::kChannel, patience.deadline,
                    open)) {
        return timed_out<Count>(&f);
      }
    }
    Count::on(&f, Event::read);
    return 0;
  }

  // Ends any one hold. Returns EPERM if there is none, which is a bug in the program.
  [[gnu::noinline]] static int release_any(Frame& f) noexcept {
    if (Lock::release_any_slot(f) || Extra::release_one(f) || Reads::unlock_any(f.core)) return 0;
    return EPERM;
  }
};

}  // namespace lockswap
