// Scripts for what the ones of rw_scripts.cpp do not say: what comes after a time-out or a mark,
// waits that nothing but a release may end beside other waiters, and two locks.
#include "rw_scripts.h"

namespace lockswap::explore::rw {

// The thread with ! must time out. Then it comes again, and others come to what it left.
const Scripts kAfterTimeOut = {
    {"timed-write-then-w", {"W +1 ?2 u", "?1 timedW! +2 W u"}, &kFewerStale},
    {"timed-write-then-r", {"W +1 ?2 u", "?1 timedW! +2 R u"}, &kFewerStale},
    {"timed-write-r-then-w", {"R +1 ?2 u R u", "?1 timedW! +2 W u"}, &kFewerStale},
    {"timed-read-then-w", {"W +1 ?2 u", "?1 timedR! +2 W u"}, &kFewerStale},
    {"timed-read-then-r", {"W +1 ?2 u W u", "?1 timedR! +2 R u"}, &kFewerStale},
    {"timed-write-then-others", {"W +1 ?2 u", "?1 timedW! +2", "?2 R u W u"}, &kSwitches},
    {"timed-write-r-then-others", {"R +1 ?2 u", "?1 timedW! +2", "?2 W u R u"}, &kSwitches},
    {"timed-read-then-others", {"W +1 ?2 u", "?1 timedR! +2", "?2 R u W u"}, &kSwitches},
    {"timed-write-beside", {"R +1 ?2 u", "?1 timedW! +2", "?1 R u W u"}, &kSequence},
    {"timed-both-then", {"W +1 ?2 ?3 u", "?1 timedR! +2 R u", "?1 timedW! +3 W u"}, &kSequence},
};
// A wait with a deadline that never comes must be ended by whatever ends another thread's wait.
const Scripts kFar = {
    {"far-r-beside-w", {"W u", "farR u", "W u"}, &kSequence},
    {"far-w-beside-r", {"W u", "farW u", "R u"}, &kSequence},
    {"far-w-behind-r", {"R u", "farW u", "R u"}, &kSequence},
    {"far-both", {"W u", "farR u", "farW u"}, &kSequence},
    {"far-r-beside-timed", {"W u", "farR u", "timedW u"}, &kSequence},
    {"far-w-beside-timed", {"R u", "farW u", "timedW u"}, &kSequence},
};
const Scripts kMoreContract = {
    {"again", {"R u R u", "W u W u"}, &kFewerStale},
    {"again-rw", {"R u W u R u", "W u R u"}, &kSwitches},
    {"again-timed", {"W +1 ?2 u", "?1 timedR! +2 R u W u"}, &kSwitches},
    {"recursive-again", {"R R u u R R u u", "W u"}, &kSwitches},
    {"recursive-try-again", {"R tryR=0 u u tryR u R u", "W u"}, &kSwitches},
    {"recursive-both", {"R R u u", "R R u u", "W u"}, &kSequence},
    // After a mark.
    {"marked-2w", {"R +1 ?2 W u R u", "?1 free +2 W u"}, &kSwitches},
    {"marked-2w1r", {"R +1 ?2 W u", "?1 free +2 W u", "?2 R u"}, &kSwitches},
    {"marked-1w2r", {"R +1 ?2 R u", "?1 free +2 W u", "?2 R u"}, &kSwitches},
    {"marked-again", {"R +1 ?2 R R u u", "?1 free +2 R u", "?2 W u"}, &kSequence},
    {"marked-timed", {"R +1 ?2 timedW u", "?1 free +2 timedR u", "?2 W u"}, &kSequence},
    {"marked-far", {"R +1 ?2 W u", "?1 free +2 farR u", "?2 farW u"}, &kSequence},
    // The record of a lock that has ended; then one of the lock that has come in its place.
    {"foreign-reborn-recursive", {"R +1 ?2 R R u u", "?1 free destroy init +2 W u"}, &kSwitches},
    // The release by another thread comes while the first one reads on.
    {"foreign-early", {"R +1 R u R u", "?1 free", "W u"}, &kSequence},
    {"foreign-early-2r", {"R +1 R u R u", "?1 free R u"}, &kSwitches},
    {"foreign-early-nested", {"R +1 R R u u R u", "?1 free W u"}, &kSwitches},
};
// Two locks share the nodes, the threads' records and the readers table.
const Scripts kTwoLocks = {
    {"two", {"W u 2W u", "2R u R u"}},
    {"two-held", {"R 2R U u", "W u 2W u"}, &kSwitches},
    {"two-nested", {"W 2W u u", "2W u W u"}, &kSwitches},
    {"two-both-ways", {"R 2W u u", "R u 2R u W u"}, &kSwitches},
    {"two-recursive", {"R 2R R U u u", "2W u W u"}, &kSequence},
    {"two-recursive-inner", {"R 2R 2R u u u", "2W u W u"}, &kSwitches},
    {"two-timed-w", {"W +1 ?2 u 2W u", "?1 timedW! +2 2W u W u"}, &kSwitches},
    {"two-timed-r", {"W +1 ?2 u 2W u", "?1 timedR! +2 2R u R u"}, &kSwitches},
    {"two-nested-r", {"R 2R u u", "2W u W u"}, &kSwitches},
    {"two-foreign", {"R 2R +1 u", "?1 free W u 2W u"}},
    {"two-foreign-inner", {"R 2R +1 U", "?1 2free 2W u"}, &kSwitches},
    // A's inner record is stale: it reads again, or releases a writer's hold.
    {"two-stale", {"R 2R +1 ?2 2R x u U", "?1 2free +2", "2W x u"}, &kSwitches},
    {"two-stale-write", {"R 2R +1 ?3 2free U", "?1 2free +2", "?2 2W +3"}, &kSwitches},
    {"two-fork", {"W fork u W u", "R u | 2R R u U", "W u | R u"}, &kNoStale},
    {"two-3", {"W u 2W u", "R u 2W u", "2R u W u"}, &kSwitches},
};
// Two readers of both locks, each of which holds one when it comes to the other, where a writer
// waits for the other reader. The third has that writer give up.
const Scripts kCrossed = {
    {"crossed", {"R +1 ?2 2R x u u", "2R +2 ?1 R x u u", "W u", "2W u"}},
    {"crossed-1w", {"R +1 ?2 2R x u u", "2R +2 ?1 R x u u", "?1 ?2 W u 2W u"}},
    {"crossed-timed-w", {"R +1 ?2 2R x u u", "2R +2 ?1 R x u u", "timedW u", "2timedW u"}},
};
// The child forks while its threads repair the lock, by a thread that began there.
const Scripts kMoreFork = {
    // A writer that is about to get into a marked lock does not exist in the child. A reader that
    // reads again there must not wait for it.
    {"fork-marked-again",
     {"R +1 ?2 fork tryR R u u", "?1 free +2 W u", "| timedW u"},
     &kSwitchesInTime},
    // A thread of the child ends a write hold of one that is gone, beside which readers had come.
    {"fork-foreign-write", {"?1 fork free W u R u", "W +1", "R u"}, &kSequence},
    // Between the places at which it waits, a thread is gone.
    {"fork-on-the-way", {"W +1 ?2 u fork tryW u tryR u", "?1 +2 W u"}},
    {"fork-write-again", {"W u W fork u W u R u", "W u"}, &kSwitches},
    {"fork-write-again-r", {"W u W fork u W u", "W u", "R u"}, &kSequence},
    {"fork-on-the-way-w", {"W +1 ?2 fork ?3 u", "?1 +2 W u | +3 W u"}},
    {"fork-on-the-way-r", {"W +1 ?2 fork ?3 u", "?1 +2 R u | +3 R u"}},
    {"fork-again-by", {"W fork u", "R u | R fork u W u", "R u | W u | R u"}, &kSequence},
    {"fork-again-by-w", {"R fork u", "W u | W fork u R u", "W u | R u | W u"}, &kSequence},
    {"fork-again-amid", {"W fork u W u", "W u | fork tryW u tryR u", "R u | R u"}, &kSequence},
};
// Its counters are about to wrap around.
const Scripts kWound = {
    {"twice", {"W u W u", "R u R u"}},
    {"timed", {"W u timedR u", "timedW u R u"}},
};
// Threads sleep one after the other, each with a number of its own, past the last channel of a set.
const Script kChannels = {"channels", {"W u W u W u W u", "W u W u W u W u"}, &kOneSwitch};
// Writers and readers that wait, with something in front of them.
const Scripts kRationed = {
    {"2w1r", {"W u W u", "R u R u", "W u"}, &kSmallRationed},
    {"1w2r", {"W u W u", "R u R u", "R u"}, &kSmallRationed},
    {"2w2r", {"W u", "R u", "W u", "R u"}, &kSequence},
    {"3w1r", {"W u", "R u", "W u", "W u"}, &kSequence},
    {"try", {"R u W u", "tryW u tryR u", "W u"}, &kSmallRationed},
    {"timed-w", {"R u R u", "timedW u", "R u W u"}, &kSmallRationed},
    {"timed-r", {"W u W u", "timedR u", "W u R u"}, &kSmallRationed},
    {"timed-2", {"W u", "timedR u", "timedW u", "R u"}, &kSequence},
    {"gives-up", {"R +1 ?2 u", "?1 timedW! +2", "?1 R u", "?1 R u"}, &kSequence},
    {"gives-up-w", {"R +1 ?2 u", "?1 timedW! +2", "?1 W u", "?1 R u"}, &kSequence},
    {"gives-up-r", {"W +1 ?2 u", "?1 timedR! +2", "?1 W u", "?1 R u"}, &kSequence},
    {"gives-up-2r", {"W +1 ?2 ?3 u", "?1 timedR! +2", "?1 timedR! +3", "?1 W u"}, &kSequence},
    {"destroy", {"R +1 u", "?1 W +2 u", "?2 W u destroy"}},
    {"destroy-r", {"W +1 u", "?1 R +2 u", "?1 ?2 W u destroy"}},
};
// A writer of the line is called, and loses to one that is about to fall asleep.
const Script kOldest = {"oldest", {"W u W u", "W u", "W u", "W u"}};
// A writer of the line becomes the front after a hand-off, and finds readers in.
const Script kTwoHandOffs = {"two-hand-offs", {"R +1 ?2 u R u", "?1 W u", "?1 +2 W u"}};
// Threads with real-time policies, which take their turn past the front.
const Scripts kUrgent = {
    {"urgent-w", {"R u R u", "W u", "fifo1 W u"}, &kSmallRationed},
    {"urgent-2w", {"R u", "fifo1 W u", "fifo2 W u"}, &kSmallRationed},
    {"urgent-r", {"W u W u", "R u", "fifo1 R u"}, &kSmallRationed},
    {"urgent-r-2w", {"W u", "W u", "fifo1 R u"}, &kSmallRationed},
    {"urgent-both", {"W u", "fifo1 W u", "fifo2 R u"}, &kSmallRationed},
    {"urgent-4", {"W u", "R u", "fifo1 W u", "fifo2 R u"}, &kSequence},
    {"urgent-4w", {"W u", "W u", "fifo1 W u", "fifo2 R u"}, &kSequence},
    {"urgent-timed", {"R u", "W u", "fifo1 timedW u"}, &kSmallRationed},
    {"urgent-timed-r", {"W u", "W u", "fifo1 timedR u"}, &kSmallRationed},
    {"urgent-out", {"R +1 ?2 u", "?1 W u", "?1 fifo1 timedW! +2", "?1 R u"}, &kSequence},
    {"urgent-out-r", {"W +1 ?2 u", "?1 W u", "?1 fifo1 timedR! +2", "?1 R u"}, &kSequence},
    {"urgent-lifted", {"R +1 lift2 u", "?1 W u", "?1 W u", "?1 R u"}, &kSequence},
    {"urgent-lifted-r", {"W +1 lift2 u", "?1 W u", "?1 R u", "?1 R u"}, &kSequence},
    // A reader that was called looks between another writer's call and its release, and demands.
    {"urgent-demand", {"W +1 ?2 lift3 u", "?1 W u", "?1 W u", "?1 R u", "?1 +2"}, &kOneSwitch},
    {"urgent-destroy", {"R +1 u", "?1 fifo1 W +2 u", "?2 W u destroy"}},
    {"urgent-destroy-r", {"W +1 u", "?1 fifo1 R +2 u", "?1 ?2 W u destroy"}},
};
const Scripts kRationedMany = {
    {"4t", {"W u R u", "R u W u", "timedW u R u", "tryW u timedR u"}},
    {"5t", {"W u", "R u", "R u W u", "timedW u", "timedR u W u"}},
    {"6t", {"W u", "R u", "R u", "W u", "timedW u", "timedR u"}},
    {"6t-urgent", {"W u", "R u", "fifo1 R u", "fifo1 W u", "timedW u", "fifo2 timedW u"}},
};
// Generations of locks wrap around.
const Scripts kWoundGenerations = {
    {"remade", {"R init tryW=0 u R u +1", "?1 tryW=0 u R u"}},
    {"foreign-reborn", {"R +1 ?2 R x u", "?1 free destroy init +2", "?2 W x u"}},
};

}  // namespace lockswap::explore::rw
