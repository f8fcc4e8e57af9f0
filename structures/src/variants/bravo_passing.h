// BRAVO whose readers get in while a writer revokes the bias.
//
// Paper: D. Dice, A. Kogan, "BRAVO" (USENIX ATC 2019), section 7: a mutex for each lock.
// Idea: a writer first takes a mutex, which excludes other writers. Then it turns new readers away
//   from the table, waits until that is empty, and only then takes the underlying lock. Readers
//   that come meanwhile go through that lock, which is open.
// Order: exclusion works as in bravo.h, because the writer revokes the bias under the underlying
//   lock. After the first wait the table is probably empty, but not certainly: a reader that holds
//   the underlying lock may have switched the bias on, and off again, behind the scan.
// Invariants: has_writer() of the underlying lock is true while a writer holds the mutex, so that
//   slow readers leave the bias off. One that checked before may still switch it on.
// Fairness: readers that come before the table is empty go first.
// Deviations: the second scan of the table. The first wait does not count towards the cost of the
//   revocation, because it keeps no reader out. Writers with a deadline, and tries, take the
//   underlying lock first, as in bravo.h.
#pragma once

#include "locks/common/events.h"
#include "locks/concept.h"
#include "locks/rw/bravo.h"
#include "locks/rw/bravo_revocation.h"
#include "platform/concept.h"
#include "readers/table_slots.h"
#include "variants/queued.h"
#include "wait/concept.h"

namespace lockswap::variants {

template <Platform P, WaitPolicy<P> W, EventCounter Count>
class BravoPassing : public Bravo<P, W, Gate<P, W>, Count> {
  using Slots = TableSlots<P, W>;
  using Base = Bravo<P, W, Gate<P, W>, Count>;
  using Revocation = BravoRevocation<P, Gate<P, W>, typename Count::Slow, Slots>;

 public:
  using typename Base::Frame;
  template <EventCounter Other>
  using CountedBy = BravoPassing<P, W, Other>;

  template <DrainListener L>
  static void write_lock(Frame& f, const L& listener) noexcept {
    f.core.lock_writers();
    if (Base::may_have_fast_readers(f)) {
      Revocation::suspend(f);
      Slots::wait(f, nullptr, [] {});
    }
    f.core.close(typename Revocation::template Suspends<L>{f, listener});
    Base::go_on_writing(f, listener);
  }
};

}  // namespace lockswap::variants
