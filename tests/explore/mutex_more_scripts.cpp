// Scripts for what the ones of mutex_cases.cpp do not say: what comes after a time-out, waits that
// nothing but a release or a signal may end beside other waiters, two mutexes, two condition
// variables, and second forks.
#include "mutex_cases.h"

namespace lockswap::explore::mutex {

const MutexScripts kAfterTimeOut = {
    {"timed-out-then-2", {"W +1 ?2 u", "?1 timedW! +2 W u", "?2 W u"}, &kSwitches},
    {"timed-out-far", {"W +1 ?2 u", "?1 timedW! +2", "?1 farW u"}, &kSequence},
    {"timed-out-far-2", {"W +1 ?2 u", "?1 timedW! +2 farW u", "?2 farW u"}, &kSequence},
    {"timed-out-late", {"W +1 ?2 u", "?1 timedW! +2 tryW u lateW u W u"}, &kSwitches},
};
const MutexScripts kFar = {
    {"far-beside-w", {"W u", "farW u", "W u"}, &kSequence},
    {"far-beside-timed", {"W u", "farW u", "timedW u"}, &kSequence},
};
const MutexScripts kMoreContract = {
    {"again", {"W u tryW u", "W u timedW u"}},
    {"again-timed", {"W +1 ?2 u", "?1 timedW! +2 W u"}},
};
// A process that has one thread when it begins, or later on: what it does without others must be
// there for those that begin, and what those did for it when they have ended.
const MutexScripts kAlone = {
    {"alone", {"alone W u W u begin W u", "?0 W u"}},
    {"alone-held", {"alone W begin u W u", "?0 W u W u"}},
    {"alone-held-3", {"alone W begin u", "?0 W u", "?0 timedW u"}},
    {"alone-held-try", {"alone W begin u tryW u", "?0 tryW u lateW u"}},
    {"alone-ends", {"alone W +1", "?1 begin free W u", "?0 W u"}},
    {"alone-again", {"alone W u begin W u ?1 alone W u tryW=0 u", "?0 W u +1"}},
    {"alone-again-held", {"alone W begin ?1 alone u W u", "?0 timedW! +1"}},
    {"alone-again-twice",
     {"alone W begin u ?1 ?2 alone W u W u", "?0 timedW u +1", "?0 timedW u +2"}},
};
// Two mutexes share the nodes.
const MutexScripts kTwoLocks = {
    {"two", {"W u 2W u", "2W u W u"}},
    {"two-nested", {"W 2W u u", "2W u W u"}, &kSwitches},
    {"two-hand-over-hand", {"W 2W U u", "W u 2W u"}, &kSwitches},
    {"two-3", {"W u 2W u", "2W u W u", "W u"}, &kSequence},
    {"two-timed-out", {"W +1 ?2 u 2W u", "?1 timedW! +2 2W u W u"}, &kSwitches},
    {"two-timed-out-3", {"W +1 ?2 u", "?1 timedW! +2 2timedW u", "?2 2W u W u"}, &kSequence},
    {"two-give-up", {"W 2W +1 ?2 ?3 u u", "?1 timedW! +2 2W u", "?1 2timedW! +3 W u"}, &kSequence},
};
const MutexScripts kMoreFork = {
    // The child has one thread, but its C library need not say so.
    {"fork-alone", {"alone W fork u W begin u", "| ?0 W u"}},
    {"fork-alone-not", {"alone W begin fork u W u", "?0 W u | ?0 W u"}},
    {"fork-alone-again", {"alone W begin fork alone u W u begin +1 tryW u", "?0 W u | ?1 W u"}},
    // Between the places at which it waits, a thread is gone.
    {"fork-on-the-way", {"W +1 ?2 u fork tryW u", "?1 +2 W u"}},
    {"fork-on-the-way-held", {"W +1 ?2 fork ?3 u", "?1 +2 W u | +3 W u"}},
    {"fork-again-by", {"W fork u", "W u | W fork u W u", "W u | W u | W u"}, &kSequence},
    {"fork-again-amid", {"W fork u W u", "W u | fork tryW u", "W u | W u"}, &kSequence},
};
// Its counters are about to wrap around.
const MutexScripts kWound = {
    {"twice", {"W u W u", "W u W u"}},
    {"timed", {"W u tryW u", "timedW u W u"}},
};

// Threads sleep one after the other, each with a number of its own, past the last channel of a set.
const MutexScript kChannels = {
    "channels", {"W u W u W u W u", "W u W u W u W u"}, &kNoStrayNoStale};

// A holder, the first of those that wait, and a line behind it.
const MutexScripts kRationed = {
    {"3w", {"W u W u", "W u", "W u"}, &kRationedBounds},
    {"4w", {"W u", "W u", "W u", "W u"}, &kSequence},
    {"4w-deep", {"W u", "W u", "W u", "W u"}, &kRationedSwitches},
    {"try", {"W u W u", "tryW u tryW u", "W u"}, &kRationedBounds},
    {"timed", {"W u W u", "timedW u", "W u"}, &kRationedBounds},
    {"timed-2", {"W u", "timedW u", "timedW u", "W u"}, &kSequence},
    {"timed-out-3", {"W +1 ?2 u W u", "?1 timedW! +2", "?1 W u", "?1 W u"}, &kSequence},
    {"timed-out-4", {"W +1 ?2 ?3 u", "?1 timedW! +2", "?1 timedW! +3", "?1 W u"}, &kSequence},
    {"timed-far", {"W u", "timedW u", "farW u", "farW u"}, &kSequence},
    {"destroy", {"W +1 u", "?1 W +2 u", "?2 W u destroy"}},
};
// A thread of the line is called, and loses to one that is about to fall asleep.
const MutexScript kOldest = {"oldest", {"W u W u", "W u", "W u", "W u"}};
// Threads with real-time policies, which take their turn past the front.
const MutexScripts kUrgent = {
    {"urgent", {"W u W u", "W u", "fifo1 W u"}, &kRationedBounds},
    {"urgent-2", {"W u", "fifo1 W u", "fifo2 W u"}, &kRationedBounds},
    {"urgent-3", {"W u", "fifo1 W u", "fifo1 W u", "fifo1 W u"}, &kSequence},
    {"urgent-4", {"W u", "W u", "fifo1 W u", "fifo2 W u"}, &kSequence},
    {"urgent-new-front",
     {"W +1 ?2 u W +4 ?3 u", "?1 timedW! +2 ?4 +3", "?1 fifo1 W u", "?1 fifo1 W u"},
     &kSequence},
    {"urgent-front-out", {"W +1 ?2 u", "?1 fifo2 timedW! +2", "?1 fifo1 W u"}, &kRationedBounds},
    {"urgent-timed", {"W u", "W u", "fifo1 timedW u"}, &kRationedBounds},
    {"urgent-out", {"W +1 ?2 u", "?1 W u", "?1 fifo1 timedW! +2"}, &kRationedBounds},
    {"urgent-out-4", {"W +1 ?2 u", "?1 W u", "?1 fifo1 timedW! +2", "?1 fifo1 W u"}, &kSequence},
    {"urgent-try", {"W u W u", "tryW u fifo1 W u", "W u"}, &kRationedBounds},
    {"urgent-later", {"W +1 ?2 u", "?1 W u", "?1 fifo1 W +3 u", "?1 +2 W u"}, &kSequence},
    {"urgent-lifted", {"W +1 lift2 u", "?1 W u", "?1 W u"}, &kRationedBounds},
    {"urgent-lifted-4", {"W +1 lift2 u", "?1 W u", "?1 timedW u", "?1 W u"}, &kSequence},
    {"urgent-destroy", {"W +1 u", "?1 fifo1 W +2 u", "?2 W u destroy"}},
};
// A thread of the line that looks by itself has got a real-time policy.
const MutexScript kLifted = {
    "lifted", {"W +1 ?4 lift2 u ?2 ?3 destroy", "?1 W u +2", "?1 +4 W u +3"}, &kSequence};
const MutexScripts kRationedMany = {
    {"4t", {"W u W u", "W u W u", "timedW u W u", "tryW u W u"}},
    {"5t", {"W u W u", "W u", "W u", "timedW u", "timedW u W u"}},
    {"6t", {"W u", "W u", "W u", "W u", "timedW u", "timedW u"}},
    {"6t-urgent", {"W u", "W u", "fifo1 W u", "fifo2 W u", "timedW u", "fifo1 timedW u"}},
};

const MutexScripts kMoreCond = {
    {"timed-again", {"W timedsee signal u W timedsee u", "W put u signal"}},
    {"timed-out-then", {"W timedtake! u +1 W take u", "?1 W put signal u"}},
    {"timed-out-then-2", {"W timedtake! u +1", "?1 W take u", "?1 W put u signal"}, &kSequence},
    {"timed-out-far", {"W timedtake! u +1", "W fartake u", "?1 W put u signal"}, &kSequence},
    {"far-beside", {"W farsee u", "W see u", "W put u broadcast"}, &kSequence},
    {"far-beside-timed", {"W farsee u", "W timedsee signal u", "W put u signal"}, &kSequence},
    {"far-2", {"W fartake u", "W take u", "W put signal u W put signal u"}, &kSequence},
    // A waiter that does not have the mutex is given a signal before that shows.
    {"stray", {"W see u", "stray", "W put u signal"}, &kNoStray},
    {"stray-take", {"W take u", "stray stray", "W put signal u"}, &kNoStray},
    {"stray-alone", {"stray", "signal W put signal u", "broadcast"}, &kNoStray},
    {"stray-broadcast", {"W see u", "stray", "W put u broadcast"}, &kNoStray},
    {"stray-relay", {"W +1 see u", "?1 W +2 see u", "stray", "?2 W put u broadcast"}, &kSequence},
    // Two condition variables and one mutex, as a queue with an end has them.
    {"two-in-turn", {"W take 2put 2signal u", "W put signal 2take u"}, &kSwitches},
    {"two", {"W take u", "W 2take u", "W put 2put signal u 2signal"}, &kSequence},
    {"two-broadcast", {"W see u", "W 2see u", "W put 2put broadcast u 2broadcast"}, &kSequence},
    // One, whose waiters have two mutexes.
    {"two-mutexes", {"W see u", "2W see u", "W put u 2W put u broadcast"}, &kSequence},
    {"two-of-each", {"W take u", "2W 2take u", "W put signal u 2W 2put 2signal u"}, &kSequence},
    // A child's threads come to it at once, and fork again.
    {"fork-crowd", {"W fork u", "W see u | W put signal u", "W see u | W see u"}, &kSequence},
    {"fork-again", {"W fork fork put u broadcast", "W see u | W see u | W see u"}, &kSequence},
    {"fork-again-by",
     {"W fork u", "W see u | W fork put u broadcast", "W see u | W see u | W see u"},
     &kSequence},
    {"fork-again-amid",
     {"W fork u broadcast", "W see u | fork signal tryW u signal", "W see u"},
     &kSequence},
};
// A queue whose consumers take what was put for others, as glibc bug 25847 needs it: one of them is
// on its way back from a wait while signals for others come and go.
const MutexScripts kCondQueue = {
    {"queue",
     {"W take u W take u", "W take u W take u",
      "W put u signal W put u signal W put u signal W put u signal"},
     &kSwitches},
    {"queue-inside",
     {"W take u W take u", "W take u W take u",
      "W put signal u W put signal u W put signal u W put signal u"},
     &kSwitches},
    {"queue-3",
     {"W take u", "W take u W take u", "W take u",
      "W put u signal W put u signal W put u signal W put u signal"},
     &kSequence},
    {"queue-behind",
     {"W +1 take u", "?1 W take u W take u", "?2 W take u",
      "?1 W put u signal W put u signal +2 W put u signal W put u signal"},
     &kSequence},
};
// The only waiter may spin before it sleeps: it polls once.
const MutexScripts kCondSpin = {
    {"spin", {"W take u", "W put signal u"}},
    {"spin-outside", {"W take u", "W put u signal"}},
    {"spin-2", {"W take u", "W take u", "W put signal u W put signal u"}, &kNoStray},
    {"spin-broadcast", {"W see u", "W see u", "W put u broadcast"}, &kNoStray},
    {"spin-turns", {"W take 2put 2signal u", "W put signal 2take u"}, &kNoStray},
    {"spin-timed", {"W timedsee signal u", "W see u", "W put u signal"}, &kNoStray},
    {"spin-cancel", {"W cancelsee signal u", "W see signal u", "W put u signal"}, &kNoStray},
    {"spin-cancel-alone", {"W cancelsee u", "W put signal u cdestroy"}},
    {"spin-destroy", {"W see u", "W put signal u cdestroy"}},
    // It sits in a signal handler in place of a spin, and others join it meanwhile.
    {"spin-stop", {"W +1 stopsee signal u", "?1 W +2 see u +9", "?2 W put u signal"}, &kNoStray},
    {"spin-forks", {"W forksee u", "W put u signal | W put u signal"}, &kNoStray},
};
const MutexScripts kMoreManyCond = {
    {"4t-middle", {"W see u", "W timedsee signal u", "W see u", "W put u broadcast"}},
    {"4t-mutexes", {"W see u", "2W see u", "W see u", "W put u 2W put u broadcast"}},
};

}  // namespace lockswap::explore::mutex
