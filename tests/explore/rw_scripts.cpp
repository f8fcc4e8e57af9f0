#include "rw_scripts.h"

#include <algorithm>

namespace lockswap::explore::rw {

// Each lock, each wait policy.
const Scripts kGeneral = {
    {"1w2r", {"W u", "R u", "R u"}},
    {"2w1r", {"W u", "W u", "R u"}},
    {"3w", {"W u", "W u", "W u"}},
    {"twice", {"W u W u", "R u R u"}},
    {"try-read", {"W u", "tryR u", "R u"}},
    {"try-write", {"W u", "tryW u", "R u"}},
    {"try-write-2", {"tryW u", "tryW u", "R u"}},
    {"timed-read", {"W u", "timedR u", "R u"}},
    {"timed-read-2w", {"W u", "W u", "timedR u"}},
    {"timed-write", {"W u", "timedW u", "R u"}},
    {"timed-write-r", {"timedW u", "R u", "R u"}},
    {"timed-write-2", {"timedW u", "timedW u", "R u"}},
    // The thread with ! must time out: the other waits until it has.
    {"timed-read-out", {"W +1 ?2 u", "?1 timedR! +2"}},
    {"timed-write-out", {"W +1 ?2 u", "?1 timedW! +2"}},
    {"timed-write-out-r", {"R +1 ?2 u", "?1 timedW! +2"}},
    // Nobody may sleep on a free lock until the deadline.
    {"far-1w1r", {"W u", "farR u"}},
    {"far-2w", {"W u", "farW u"}},
    {"far-1r1w", {"R u", "farW u"}},
    // A free lock must be had, also by a try and by a call whose deadline has passed.
    {"idle", {"tryW=0 u tryR=0 u lateW=0 u lateR=0 u +1", "?1 tryW=0 u lateR=0 u"}},
    {"late", {"W u", "lateR u", "lateW u"}},
    {"exit", {"R u W u exit W u R u", "W u R u"}, &kFewerStale},
};

// The thread with ! must time out: the others wait until it has. Then they come to what it left.
const Scripts kGiveUp = {
    // A writer gives up while it waits for readers, and others wait for it.
    {"drain-out-r", {"R +1 ?2 u", "?1 timedW! +2 R u", "?1 R u"}},
    {"drain-out-w", {"R +1 ?2 u", "?1 timedW! +2 W u", "?1 W u"}},
    {"drain-out-timed", {"R +1 ?2 u", "?1 timedW! +2", "?1 timedR u timedW u"}},
    // It does so at the moment when the last reader leaves.
    {"drain-ends", {"R +1 u", "?1 timedW u W u", "?1 R u"}},
    // A waiting reader gives up, below another one or above it.
    {"reader-out", {"W +1 ?2 u W u", "?1 timedR! +2", "?1 R u"}},
    {"reader-out-again", {"W +1 ?2 u", "?1 timedR! +2 R u", "?1 timedR u"}},
    {"reader-out-2", {"W +1 ?2 ?3 u W u", "?1 timedR! +2", "?1 timedR! +3"}},
    // A waiting writer gives up.
    {"writer-out", {"W +1 ?2 u", "?1 timedW! +2 W u", "?1 W u"}},
    {"writer-out-2", {"W +1 ?2 ?3 u tryW u", "?1 timedW! +2", "?1 timedW! +3"}},
    {"writer-out-again", {"W +1 ?2 u", "?1 timedW! +2 timedW u", "?2 timedW u"}},
    {"writer-out-r", {"W +1 ?2 u", "?1 timedW! +2 R u", "?1 R u"}},
    {"writer-out-destroy", {"W +1 ?2 u", "?1 timedW! +2 +3", "?3 R u destroy"}},
    {"reader-out-destroy", {"W +1 ?2 u", "?1 timedR! +2 +3", "?3 R u destroy"}},
};
// A writer comes again as another one, which it kept waiting, is about to get in: at locks that a
// writer may take past the queue.
const Scripts kAgain = {
    {"again-2w", {"W u W u", "W u"}},
    {"again-timed", {"W u W u", "timedW u W u"}, &kSwitches},
    {"again-far", {"W u W u", "farW u"}, &kSwitches},
    {"again-2w1r", {"W u W u", "W u", "R u"}},
    {"again-3w", {"W u W u", "W u", "W u"}},
    {"again-timed-2", {"W u W u", "timedW u", "timedW u"}, &kSequence},
    {"again-destroy", {"W u W +1 u", "W +2 u", "?1 ?2 W u destroy"}, &kSequence},
};
// Try forms on a free lock.
const Scripts kTries = {
    {"try-1r1w", {"tryR u", "tryW u"}, nullptr, true},
    {"try-2w", {"tryW u", "tryW u"}, nullptr, true},
    {"try-1r2w", {"tryR u", "tryW u", "tryW u"}, nullptr, true},
    {"try-2r1w", {"tryR u", "tryR u", "tryW u"}, nullptr, true},
    // A call whose deadline has passed is a try, too.
    {"late-1r1w", {"tryR u", "lateW u"}, nullptr, true},
    {"late-2w", {"lateW u", "tryW u"}, nullptr, true},
    {"late-both", {"lateR u", "lateW u"}, nullptr, true},
    {"late-1r2w", {"tryR u", "lateW u", "tryW u"}, nullptr, true},
    // What a try that fails leaves behind shows in those that come after it, in turn.
    {"try-then", {"tryW u R u W u R u", "R u"}, &kFewerStale},
    {"try-then-w", {"tryW u W u R u W u", "R u R u"}, &kSwitchesInTime},
    // A writer beside threads that try again and again.
    {"try-beside-w", {"farW u", "tryR u tryW u", "tryW u tryR u"}},
    // A lock that is only read. The one that tries to write cannot succeed, so the reader must.
    {"try-only-read", {"?1 tryR=0 u +3", "R +1 ?2 ?3 u", "?1 tryW! tryW! +2"}},
};
// Too many threads for all executions.
const Scripts kMany = {
    {"4t", {"W u W u", "W u", "R u R u", "R u"}},
    {"4t-timed", {"W u", "timedW u", "tryR u R u", "timedR u"}},
    {"5t", {"W u", "W u R u", "R u", "R u", "timedR u"}},
    {"6t", {"W u", "W u", "R u R u", "R u", "tryW u", "timedR u"}},
};
// Both readers on one of the two CPUs or nodes.
const Script kSamePlace = {"same-place", {"R u", "W u", "R u"}};
// A reader of the first CPU waits for a writer that gives up at the second one, where there is a
// hold. Another thread releases that hold, and the phases wrap around to the reader's.
const Script kComesRound = {"foreign-comes-round",
                            {"?1 lateW u free lateW u lateW u", "R +1", "?1 timedR u"}};
// Two writers give up one after the other, while a reader looks away that met the first of them.
const Script kGivenUpTwice = {"given-up-twice",
                              {"R +1 ?2 u", "?1 timedW! timedW! +2 W u", "?1 R u"}};
// A reader gives up in the list, between two others.
const Script kOutBetween = {"reader-out-between",
                            {"W +1 ?2 u", "?1 R u", "?1 timedR! +2", "?1 R u"}};
// The thread that ends with `destroy` knows that the other has the lock or had it.
const Scripts kDestroy = {
    {"destroy-after-w", {"W +1 u", "?1 W u destroy"}},
    {"destroy-after-r", {"R +1 u", "?1 W u destroy"}},
    {"destroy-by-r", {"W +1 u", "?1 R u destroy"}},
    {"destroy-timed", {"W +1 u", "?1 timedW u W u destroy"}},
};
// BRAVO: the bias is off, and readers of an unbiased lock leave it alone at every other read.
const Scripts kUnbiased = {
    {"written", {"W u R x u R x u", "R x u W u"}},
    {"written-2r", {"W u R x u", "R x u R x u", "W u"}},
    {"written-foreign", {"W u R +1", "?1 free", "R x u W u"}},
    {"written-recursive", {"W u R R u x u R u", "W u"}},
};
// What the contract of POSIX adds.
const Scripts kContract = {
    {"recursive", {"R R u x u", "W u"}},
    {"recursive-3", {"R R u x u", "W u", "R u"}},
    {"recursive-deep", {"R R R u x u u", "W u"}},
    {"recursive-try", {"R tryR=0 u x u", "W u"}},
    {"recursive-timed-w", {"R R u x u", "timedW u"}},
    {"recursive-try-w", {"R R u x u", "tryW u"}},
    // A reads, B releases it.
    {"foreign", {"R +1", "?1 free", "W u"}},
    {"foreign-beside", {"R +1", "?1 free", "R u"}},
    {"foreign-of-extra", {"R +1", "?1 free", "R R u x u"}},
    // BRAVO: a reader publishes itself late, when the writer has come and gone; the release by
    // another thread takes its slot for the hold that it means.
    {"foreign-back-out", {"W u +2 ?1 free", "?2 R +1", "R u"}},
    // A reads, B releases that, C writes, A reads: A has a stale record and waits.
    {"foreign-stale", {"R +1 ?2 R u", "?1 free +2", "W u"}},
    {"foreign-stale-w", {"R +1 ?3 R u", "?1 free +2", "?2 W +3 x u"}},
    // A has a stale record and releases a writer's hold.
    {"foreign-stale-write", {"R +1 ?3 free", "?1 free +2", "?2 W +3"}},
    // A reads twice, B releases one.
    {"foreign-one-of-two", {"R R +1 x u", "?1 free", "W u"}},
    // B's release races a recursive read and its release.
    {"foreign-races-recursion", {"R +1 R x u", "?1 free", "W u"}},
    {"foreign-races-recursion-2", {"R +1 R u x ?2", "?1 free +2"}},
    // B releases A's hold while others read, fast or slow.
    {"foreign-beside-reader", {"R +1", "?1 free", "R x u", "W u"}},
    {"foreign-beside-recursion", {"R +1", "?1 free", "R R u x u", "W u"}, &kNoStale},
    {"foreign-then-timed", {"R +1", "?1 free", "timedW u", "timedR u"}, &kNoStale},
    {"foreign-write", {"W +1", "?1 free", "R u"}},
    // The lock ends while a record of it is stale; the next generation begins at its address.
    {"foreign-reborn", {"R +1 ?2 R x u", "?1 free destroy init +2", "?2 W x u"}},
    {"foreign-reborn-2", {"R R +1 ?2 R u", "?1 free free destroy init +2 W u"}},
    {"foreign-try", {"R +1 ?2 tryR u", "?1 free +2", "tryW u"}},
    {"foreign-destroy", {"R +1", "?1 free +2", "?2 W u destroy"}},
    // A lock that is made anew while it is held is free.
    {"remade", {"R init tryW=0 u R u +1", "?1 tryW=0 u R u"}},
    // The thread that acquired has ended; in its place, with its slot, is another.
    {"exit-reading", {"R +1 exit R u", "?1 free W u"}},
    {"exit-reading-3", {"R +1 exit ?2 R u", "?1 free +2", "W u"}},
    {"exit-writing", {"W +1 exit R u", "?1 free"}},
};
// In a forked child: what stays, and which threads are gone. The other threads are anywhere.
const Scripts kFork = {
    {"fork-reader", {"fork tryW u tryR u tryW u", "R u R u"}},
    {"fork-writer", {"fork tryR u tryW u", "W u W u"}},
    {"fork-1w1r", {"fork tryW u tryR u", "W u", "R u"}},
    {"fork-2w", {"fork tryR u tryW u", "W u", "W u"}},
    {"fork-timed", {"fork tryW u tryR u", "W u", "timedR u"}},
    {"fork-timed-w", {"fork tryW u tryR u", "R u", "timedW u"}},
    {"fork-recursive", {"fork tryW u tryR u", "R R u u", "W u"}},
    {"fork-hold", {"R fork R tryW! u u u tryW u", "W u", "R u"}},
    {"fork-hold-2w", {"R fork tryR=0 tryW! u u u tryW=0 u", "W u", "W u"}},
    {"fork-hold-timed", {"R fork u tryW u tryR u", "timedW u", "timedR u"}},
    {"fork-hold-stays",
     {"R +2 ?1 fork tryW! u u tryW! u tryR=0 u tryW!", "?2 R +1", "?1 W u"},
     nullptr,
     false,
     true},
    // Nobody else can hold what the survivor writes.
    {"fork-write", {"W fork x u W u R u", "R u", "W u"}},
    {"fork-write-1r", {"W fork u W u", "R u"}},
    {"fork-write-2r", {"W fork u W u R u", "R u", "R u"}},
    {"fork-write-2w", {"W fork u R u W u", "W u", "W u"}},
    {"fork-write-timed", {"W fork u W u R u", "timedR u", "timedW u"}},
    // Threads of the child come to the lock at once.
    {"fork-crowd-w", {"W fork u W u", "R u | W u R u", "W u | R u"}, &kNoStale},
    {"fork-crowd-r", {"R fork u", "W u | tryW u tryR u", "R u | tryR u"}},
    // One of them repairs it while a hold from before the fork ends.
    {"fork-repair-r", {"R +1 ?2 fork u", "?1 +2 W u | tryW u tryR u"}},
    {"fork-crowd", {"fork", "W u | tryW u", "R u | tryW u tryR u"}},
    // While the child's threads repair the lock, it forks again.
    {"fork-again", {"fork fork tryW u tryR u", "R u | tryR u", "W u | tryW u"}},
    {"fork-again-w", {"W fork fork u W u R u", "R u | tryR! u timedW!", "W u | tryW!"}},
    {"fork-again-r", {"R fork fork u tryW u", "W u | tryW! u tryR u", "R u"}},
    // A release by another thread, before and after.
    {"fork-foreign", {"R +1 ?2 fork tryR u tryW u", "?1 free +2 W u", "R u"}},
    {"fork-foreign-w", {"R +1 ?2 W fork u W u", "?1 free +2 R u", "?2 W u"}},
    {"fork-foreign-r", {"R +1 ?2 fork tryR u tryW u", "?1 free +2", "?2 W u"}},
    // What an earlier writer has recorded is not what a later one, which has just come, has to
    // record: one with the same node; one in the child.
    {"fork-recorded", {"R +4 u ?3 fork tryW!", "?4 W u +1 ?3 W u", "?1 R +3"}},
    {"fork-recorded-again",
     {"R +1 fork ?3 fork u tryW!", "?1 W u | ?3 timedW u", "| R +3"},
     nullptr,
     false,
     true},
    {"fork-init", {"R fork init W u R u", "W u", "R u"}},
};
// Readers that others in the lock wait for: each would wait for ever without patience, if a writer
// comes between.
const Scripts kPatience = {
    {"helper", {"R ?1 u", "R +1 x u", "W u"}},
    {"helper-timed-w", {"R ?1 u", "R +1 u", "timedW u"}},
    {"helper-timed-r", {"R ?1 u", "farR +1 u", "W u"}},
    // The reader that is needed came to the first CPU, behind a writer that has that one and waits,
    // with a deadline that never comes, for the other reader at the second. It polled there once,
    // and no reader could know that it drained.
    {"helper-far-w", {"R +1 u", "R ?1 u", "farW u"}},
    {"helper-again", {"R ?1 u", "R +1 u R u", "W u W u"}},
    {"helper-recursive", {"R ?1 u", "R R +1 u x u", "W u"}},
    {"helper-writes", {"R ?1 u", "R +1 x u W u", "W u"}},
    // A reader waits in the lock below since before the mark, and the writer that it met has been
    // in since. The reader may see that in the contract word alone.
    {"marked-meanwhile", {"R exit +1 ?2 free", "?1 W u", "+2 R u"}},
    // What an earlier writer wrote. BRAVO: the last hold of the first thread is a fast one.
    {"helper-after-w", {"W u R u R ?1 u", "R +1 u", "W u"}},
    // The writer gives up while the guest is in, and comes again.
    {"gives-up", {"R ?1 u", "R +1 x u", "timedW u W u"}},
    // Two writers drain, and the first gives up; the second one drains still. It waits for a
    // reader of the lock below, for a guest.
    {"gives-up-before", {"R +3 ?1 u", "?3 timedW! R +1 u", "?3 W u"}},
    {"gives-up-before-guest", {"R +3 ?1 u W u", "?3 R +1 ?2 u", "?3 timedW u R +2 u"}},
    {"helper-gives-up", {"R +3 ?1 u", "?3 R +1 ?2 u", "?3 timedW! +2"}},
    // The writer comes last: each reader waits for the other one.
    {"destroy-after-guest", {"R +3 ?1 u", "?3 R +1 u", "?3 W u destroy"}},
    // Another thread releases the guest's hold; the guest releases another thread's.
    {"foreign-of-guest", {"R ?1 u free", "R +1", "W u"}},
    {"foreign-by-guest", {"R +2 ?1", "?2 R +1 u free", "W u"}},
    // The reader that is needed goes before the writer; or behind it, until that gives up.
    {"helper-urgent", {"R ?1 u", "fifo2 R +1 u", "fifo1 W u"}},
    {"urgent-gives-up", {"R ?1 u", "fifo1 R +1 u", "fifo1 timedW u"}},
    {"fork-urgent", {"R fork u tryW u tryR u", "R u", "fifo1 W u"}},
    {"fork-beside-guest", {"R ?1 fork u tryW u tryR u", "R +1 u", "W u"}},
    {"fork-by-guest", {"R ?1 u | tryW u", "R +1 fork tryW! u R u u tryW u", "W u | tryR u"}},
};
// A reader that finds a waiting writer of its priority waits until that gives up; and passes the
// next one, which has none.
const Scripts kPriorities = {
    {"behind-urgent", {"R +2 ?1 u", "fifo1 nap timedR! +1", "?2 fifo1 W u"}},
    {"behind-urgent-then", {"R +2 ?1 u", "fifo1 nap R +1 u", "?2 fifo1 timedW u fifo0 W u"}},
};
const Scripts kPatienceMany = {
    {"chain", {"R ?1 u", "R +1 ?2 u", "R +2 u", "W u"}},
    // The second writer meets guests of the first, and no reader of the lock below.
    {"chain-gives-up", {"R ?1 u +3", "R +1 ?2 u", "?3 R +2 u", "timedW u W u"}},
    {"helper-2w", {"R ?1 u", "R +1 u", "timedW u", "W u"}},
    // The first writer gives up while it waits for the guest of another one, and the second has its
    // turn.
    {"chain-late-give-up", {"R ?1 u +3", "R +1 ?2 u", "?3 R +2 u", "timedW u", "W u"}},
    // A release by another thread marks the lock while a guest is in.
    {"foreign-beside-guest", {"R +4 ?1 ?2", "R +1 +3 ?2 x u", "W u", "?3 ?4 free +2"}},
};
// Nobody has used it: another thread is about to adopt it.
const Script kForkNew = {"fork-new", {"fork tryW u tryR u", "R u", "W u | tryR u"}};
// BRAVO: the first and the third reader want the same slot. So the writer drains a reader of the
// lock below, and is in there, with a reader behind it, as it waits for the slot.
const Script kForkAbove = {
    "fork-above", {"R +1 fork R tryW! u u u tryW u", "?2 W u", "?1 R +2 u R u"}, &kSwitchesInTime};
const Scripts kManyContract = {
    {"4t-recursive", {"R R u u", "R u R R u u", "W u", "timedW u"}},
    {"4t-foreign", {"R +1 R u", "?1 free R u", "W u", "R u"}},
};

namespace {
const Script& named(const Scripts& scripts, const std::string& name) {
  return *std::ranges::find_if(scripts, [&](const Script& s) { return name == s.name; });
}
}  // namespace
const Script& general(const std::string& name) { return named(kGeneral, name); }
const Script& fork(const std::string& name) { return named(kFork, name); }
const Script& patience(const std::string& name) { return named(kPatience, name); }
const Script& contract(const std::string& name) {
  for (const Scripts* scripts : {&kGeneral, &kContract, &kPatience}) {
    for (const Script& s : *scripts) {
      if (name == s.name) return s;
    }
  }
  return fork(name);
}

bool destroys(const Script& s) {
  for (const std::string& t : s.threads) {
    if (t.ends_with("destroy")) return true;
  }
  return false;
}

}  // namespace lockswap::explore::rw
