// The cases of mutexes and condition variables. All acquisitions are writes; see script.h.
#include "mutex_cases.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "barging_mutex.h"
#include "rationed_cases.h"
#include "wind.h"

namespace lockswap::explore::mutex {

// Each mutex, each wait policy.
const MutexScripts kGeneral = {
    {"2w", {"W u", "W u"}},
    {"3w", {"W u", "W u", "W u"}},
    {"twice", {"W u W u", "W u W u"}},
    {"try", {"W u", "tryW u", "W u"}},
    {"try-2", {"tryW u", "tryW u", "W u"}},
    {"timed", {"W u", "timedW u", "W u"}},
    {"timed-2", {"W u", "timedW u", "timedW u"}},
    {"timed-try", {"W u", "timedW u", "tryW u"}},
    {"timed-twice", {"W u W u", "timedW u timedW u"}},
    {"late", {"W u", "lateW u", "lateW u"}},
    // Nobody may sleep on a free mutex until the deadline.
    {"far", {"W u", "farW u"}},
    {"far-2", {"W u", "farW u", "farW u"}},
    // The two are at the same node.
    {"far-beside", {"W u", "", "farW u"}},
    // One of the last two tries gets it: only a hold is in the way of the other.
    {"try-one", {"W u tryW +1 u ?1", "", "tryW +1 u"}},
    {"try-behind", {"W +1 ?2 u tryW +3 u ?3", "?1 timedW! +2", "?2 tryW +3 u"}},
    // A free mutex must be had, also by a try and by a call whose deadline has passed.
    {"idle", {"tryW=0 u lateW=0 u W u +1", "?1 tryW=0 u lateW=0 u"}},
    {"exit", {"W u exit W u", "W u W u"}},
};
// The thread with ! must time out: the holder waits until it has. Then others come to what it left.
const MutexScripts kGiveUp = {
    {"timed-out", {"W +1 ?2 u W u", "?1 timedW! +2"}},
    {"timed-out-before", {"W +1 ?2 u", "?1 timedW! +2 W u", "?1 W u"}},
    {"timed-out-2", {"W +1 ?2 ?3 u tryW u", "?1 timedW! +2", "?1 timedW! +3"}},
    {"timed-again", {"W +1 ?2 u", "?1 timedW! +2 timedW u", "?2 timedW u"}},
    {"timed-again-w", {"W +1 ?2 u", "?1 timedW! +2 timedW u", "?2 W u"}},
    {"timed-out-nodes", {"W +1 ?2 ?3 u", "?1 timedW! +2", "?1 timedW! +3"}, nullptr, true},
    {"timed-out-nodes-late", {"W +1 ?2 ?3 u", "?1 timedW! +2", "?1 lateW! +3"}, nullptr, true},
    {"timed-out-try", {"W +1 ?2 u", "?1 timedW! +2 tryW u", "tryW u"}},
};
const MutexScripts kMany = {
    {"4t", {"W u W u", "W u", "W u W u", "tryW u"}},
    {"4t-timed", {"W u", "timedW u", "timedW u W u", "tryW u timedW u"}},
    {"5t", {"W u", "W u timedW u", "timedW u", "tryW u", "lateW u"}},
};
// The thread that ends with `destroy` knows that the others have the mutex or had it.
const MutexScripts kDestroy = {
    {"destroy", {"W +1 u", "?1 W u destroy"}},
    {"destroy-timed", {"W +1 u", "?1 timedW u W u destroy"}},
    {"destroy-behind", {"W +1 ?2 u", "?1 timedW! +2 +3", "?3 W u destroy"}},
    {"destroy-3", {"W +1 u", "?1 W +2 u", "?2 W u destroy"}},
};
// What the contract of POSIX adds.
const MutexScripts kContract = {
    {"foreign", {"W +1", "?1 free W u", "W u"}},
    {"foreign-exit", {"W +1 exit W u", "?1 free"}},
};
const MutexScripts kRecursive = {
    {"recursive", {"W W u x u", "W u"}},
    {"recursive-3", {"W W W u u x u", "W u", "tryW u"}},
    {"recursive-try", {"W tryW=0 timedW=0 u u x u", "W u"}},
    {"fork-recursive", {"W W fork u x tryW=0 u u W u", "W u", "timedW u"}},
};
// A thread that has learnt its id at another mutex meets one that is repaired meanwhile.
const MutexScript kForkRecursiveTwo = {"fork-recursive-two", {"W fork u W u", "W u | 2W u W u"}};
const MutexScripts kFork = {
    {"fork", {"fork tryW u tryW u", "W u W u"}},
    {"fork-2w", {"fork tryW u", "W u", "W u"}},
    {"fork-timed", {"fork tryW u", "W u", "timedW u"}},
    {"fork-hold", {"W fork x u W u", "W u", "W u"}},
    {"fork-hold-timed", {"W fork u tryW=0 u W u", "timedW u", "W u"}},
    {"fork-stays", {"?1 fork tryW! timedW!", "W +1"}},
    {"fork-crowd", {"W fork u W u", "W u | W u", "W u | tryW u"}},
    {"fork-crowd-2", {"fork", "W u | tryW u", "W u | tryW u"}},
    {"fork-again", {"W fork fork u W u", "W u | tryW!", "W u | timedW!"}},
    {"fork-again-2", {"fork fork tryW u", "W u | tryW u", "W u"}},
    {"fork-init", {"W fork init W u", "W u"}},
};
const MutexScripts kZeroed = {
    {"2w", {"W u", "W u"}},
    {"fork-new", {"fork tryW u", "W u | tryW u"}},
};

// Condition variables. A script must signal and put enough, or a thread would wait for ever.
const MutexScripts kCond = {
    {"signal", {"W take u", "W put signal u"}},
    {"signal-outside", {"W take u", "W put u signal"}},
    {"signal-2", {"W take u", "W take u", "W put signal u W put signal u"}},
    {"signal-by-2", {"W take u W take u", "W put signal u", "W put u signal"}},
    {"broadcast", {"W take u", "W take u", "W put put broadcast u"}},
    {"broadcast-outside", {"W see u", "W see u", "W put u broadcast"}},
    {"broadcast-again", {"W see u", "W put broadcast u", "broadcast"}},
    // What a waiter that gives up was given goes to the other.
    {"timed", {"W timedsee signal u", "W see u", "W put u signal"}},
    {"timed-2", {"W timedsee signal u", "W timedsee signal u", "W put signal u"}, &kNoStray},
    {"timed-alone", {"W timedtake! u"}},
    {"timed-broadcast", {"W timedsee u", "W see u", "W put u broadcast"}, &kNoStray},
    {"late", {"W latesee signal u", "W see u", "W put u signal"}},
    {"far", {"W farsee u", "W put u signal"}},
    {"cancel", {"W cancelsee signal u", "W see signal u", "W put u signal"}},
    {"cancel-broadcast", {"W cancelsee u", "W see u", "W put broadcast u"}, &kNoStray},
    {"cancel-timed", {"W cancelsee signal u", "W timedsee signal u", "W put u signal"}, &kNoStray},
    // The condition variable goes as soon as nobody waits for it.
    {"destroy", {"W see u", "W put broadcast u cdestroy"}},
    {"destroy-inside", {"W see u", "W see u", "W put broadcast cdestroy u"}},
    {"destroy-signal", {"W see u", "W put signal u cdestroy"}},
    {"destroy-timed", {"W timedsee u", "W put broadcast u cdestroy"}},
    {"destroy-timed-2", {"W timedsee u", "W see u", "W put broadcast u cdestroy"}, &kNoStray},
    {"destroy-cancel", {"W cancelsee u", "W put signal u cdestroy"}, &kSmall},
    // Its waiters do not exist in a child.
    {"fork", {"W fork put u broadcast", "W see u | W see u"}, &kNoStray},
    {"fork-signal", {"W fork u W put signal u", "W see u | W see u"}, &kNoStray},
    {"fork-in-signal", {"fork tryW put u signal", "W see u", "W put u signal"}},
};
// A waiter that sits in a signal handler until all the others are back. Event 8: another is back.
const MutexScripts kCondStop = {
    {"stop-signal", {"W +1 stopsee signal u", "?1 W +2 see u +9", "?2 W put u signal"}, &kNoStray},
    {"stop-signal-2",
     {"W +1 see signal u +9", "?1 W +2 stopsee u", "?2 W put u signal"},
     &kNoStray},
    {"stop-broadcast", {"W +1 stopsee u", "?1 W see u +9", "W put u broadcast"}, &kNoStray},
    {"stop-relay",
     {"W +1 stopsee u", "?1 W +2 see u +8", "?2 W +3 see u ?8 +9", "?3 W put broadcast u"},
     &kNoStrayNoStale},
    {"stop-relay-2",
     {"W +1 see u +8", "?1 W +2 stopsee u", "?2 W +3 see u ?8 +9", "?3 W put broadcast u"},
     &kNoStrayNoStale},
    {"stop-relay-3",
     {"W +1 see u +8", "?1 W +2 see u ?8 +9", "?2 W +3 stopsee u", "?3 W put broadcast u"},
     &kNoStrayNoStale},
    {"halt-broadcast", {"W +1 haltsee u", "?1 W see u +9", "W put u broadcast"}, &kNoStray},
    {"halt-relay",
     {"W +1 haltsee u", "?1 W +2 see u +8", "?2 W +3 see u ?8 +9", "?3 W put broadcast u"},
     &kNoStrayNoStale},
    // Nothing but the guard's wake shows it that the chain is made: the broadcast does not come by
    // the mutex. Each of its three looks at the relay may be an old one.
    {"halt-relay-outside",
     {"W +1 haltsee u", "?1 W +2 see u +8", "?2 W +3 see u ?8 +9", "?3 W put u broadcast"},
     &kOnlyStale},
    {"relay",
     {"W +1 see u", "?1 W +2 see u", "?2 W +3 see u", "?3 W put broadcast u cdestroy"},
     &kNoStrayNoStale},
};
// Signals are for the highest priority; event 8 comes by nobody else.
const MutexScripts kCondPriority = {
    {"priority", {"W +1 see u", "?1 fifo2 W +2 see u +8", "?2 W put signal u ?8 W signal u"}},
    {"priority-first", {"fifo2 W +1 see u +8", "?1 W +2 see u", "?2 W put signal u ?8 W signal u"}},
    {"priority-timed",
     {"W +1 see signal u", "?1 fifo2 W +2 timedsee signal u", "?2 W put u signal"},
     &kNoStray},
    {"priority-broadcast",
     {"W +1 see u", "?1 fifo2 W +2 see u", "?2 W +3 see u", "?3 W put broadcast u"},
     &kNoStrayNoStale},
};
// A waiter whose signal handler forks: the wait goes on in the child, or ends for no reason.
const MutexScripts kCondFork = {
    {"handler-forks", {"W forksee u", "W put u broadcast | W put u broadcast"}, &kNoStray},
    {"handler-forks-signal",
     {"W forksee u", "W put u signal | W put u signal cdestroy"},
     &kNoStray},
    {"handler-forks-timed", {"W forktimedsee u W timedsee u", "| W timedsee u"}, &kNoStray},
    {"handler-forks-behind",
     {"W +1 see u |", "?1 W forktimedsee u W see u", "W put u broadcast | W put u signal"},
     &kNoStray},
    {"handler-forks-beside",
     {"W forksee u", "W see u | W put broadcast u", "W put broadcast u | W see u"},
     &kNoStrayNoStale},
    // At the fork another thread's node, given back already, may still be in the list.
    {"handler-forks-amid-signal",
     {"W +1 see u signal |", "?1 W forksee u", "?1 W put u signal | W put u broadcast"},
     &kStraySwitches},
    {"handler-forks-relay",
     {"W +1 forksee u", "?1 W +2 see u |", "?2 W +3 see u |",
      "?3 W put broadcast u | W put u broadcast"},
     &kNoStrayNoStale},
    {"handler-forks-relay-2",
     {"W +2 see u |", "?2 W +1 forksee u", "?1 W +3 see u |",
      "?3 W put broadcast u | W put u broadcast"},
     &kNoStrayNoStale},
};
const MutexScripts kManyCond = {
    {"4t", {"W take u", "W take u", "W put signal u", "W put u signal"}},
    {"4t-timed",
     {"W timedtake signal u", "W see signal u", "W see signal u", "W put put u signal"}},
    {"4t-broadcast", {"W see u", "W timedsee u", "W cancelsee u", "W put broadcast u cdestroy"}},
};

namespace {

// The widths, in bits, of the numbers with which locks count.
constexpr int kWoundBits[] = {24, 28, 30, 31, 32};

Bounds least(const Bounds& a, const Bounds& b) {
  return {std::min(a.preemptions, b.preemptions), std::min(a.stale, b.stale),
          std::min(a.spurious, b.spurious), std::min(a.timeouts, b.timeouts),
          std::min(a.moves, b.moves)};
}

}  // namespace

Case& MutexBuilder::add_case(const std::string& lock_name, LockUnderTest& lock,
                             const MutexScript& s) {
  Case& c = cases_.emplace_back();
  c.name = lock_name + '/' + s.name;
  c.lock = &lock;
  c.threads = s.threads;
  c.bounds = kFull;
  c.quick_bounds = s.quick != nullptr ? *s.quick : s.threads.size() > 2 ? kSmall : kFull;
  c.destroys =
      std::ranges::any_of(s.threads, [](const std::string& t) { return t.ends_with(" destroy"); });
  c.gives_back_nodes = s.gives_back_nodes;
  return c;
}

// Of one that has the contract of another mutex, only as far as the core is another one.
void MutexBuilder::add_core(const std::string& name, const Traits& traits, LockUnderTest& core) {
  const std::size_t first = cases_.size();
  for (const MutexScripts* scripts : {&kGeneral, &kFar, &kDestroy}) {
    for (const MutexScript& s : *scripts)
      add_case("core/" + name, core, s);
  }
  for (const MutexScript& s : kMany)
    add_case("core/" + name, core, s).sampled = true;
  const std::size_t rest = cases_.size();
  for (const MutexScripts* scripts : {&kGiveUp, &kAfterTimeOut}) {
    for (const MutexScript& s : *scripts)
      add_case("core/" + name, core, s);
  }
  add_wound(name, core);
  if (!traits.has_same_contract && !traits.is_large) return;
  for (std::size_t i = first; i < cases_.size(); ++i) {
    const Bounds& most = i < rest ? kSmall : kNoStale;
    Bounds& quick = cases_[i].quick_bounds;
    quick = traits.has_same_contract ? most : least(quick, most);
  }
}

void MutexBuilder::add_all(const std::string& name, const Traits& traits, LockUnderTest& core,
                           LockUnderTest& contract, LockUnderTest& second,
                           LockUnderTest& recursive) {
  add_core(name, traits, core);
  const std::size_t first = cases_.size();
  if (traits.rations_hand_offs) {
    add_rationed(name, core);
    if (sleeps(name)) {
      Case& c = add_case(name, contract, kLifted);
      c.impatient = c.takes_back = true;
    }
  }
  add_each(name, contract);
  for (const MutexScript& s : kContract)
    add_case(name, contract, s);
  for (const MutexScript& s : kMoreContract)
    add_case(name, contract, s);
  for (const MutexScript& s : kAlone) {
    add_case("core/" + name, core, s);
    add_case(name, contract, s);
  }
  for (const MutexScript& s : kTwoLocks)
    add_case(name, contract, s).second = &second;
  for (const MutexScript& s : kDestroy)
    add_case(name, contract, s);
  for (const MutexScript& s : kRecursive)
    add_case(name, recursive, s);
  add_case(name, recursive, kForkRecursiveTwo).second = &second;
  for (const MutexScript& s : kFork)
    add_case(name, contract, s);
  for (const MutexScript& s : kMoreFork)
    add_case(name, contract, s);
  for (const MutexScript& s : kZeroed)
    add_case(name + "-zeroed", contract, s).zeroed = true;
  // One that is made of several locks takes many times the steps. It has no orders of its own.
  if (!traits.is_large) return;
  for (std::size_t i = first; i < cases_.size(); ++i) {
    Case& c = cases_[i];
    const bool rationed = c.impatient || c.at_once;
    c.quick_bounds = least(c.quick_bounds, rationed ? kTimes : c.second ? kSequence : kNoStale);
  }
}

// Where acquisitions leave anything behind: numbers in the lock that wrap around.
void MutexBuilder::add_wound(const std::string& name, LockUnderTest& core) {
  if (!counts_acquisitions(core)) return;
  if (sleeps(name)) add_case("core/" + name, core, kChannels).wound_writes = kChannelsBefore;
  for (const int bits : kWoundBits) {
    for (const MutexScript& s : kWound) {
      Case& c = add_case("core/" + name + "-2^" + std::to_string(bits), core, s);
      c.wound_writes = (std::uint64_t{1} << bits) - 2;
    }
  }
}

void MutexBuilder::add_rationed(const std::string& name, LockUnderTest& core) {
  explore::add_rationed(
      "core/" + name, RationedScripts<MutexScript>{kRationed, kRationedMany, kUrgent, kOldest},
      [&](const std::string& of, const MutexScript& s) -> Case& { return add_case(of, core, s); });
}

void MutexBuilder::add_each(const std::string& name, LockUnderTest& contract) {
  for (const MutexScript& s : {kGeneral[1], kGeneral[5]})
    add_case(name, contract, s);
}

void MutexBuilder::add_each_cond(const std::string& name, LockUnderTest& mutex) {
  for (const MutexScript& s : {kCond[0], kCond[4], kCond[7]})
    add_case(name, mutex, s);
}

void MutexBuilder::add_conds(const std::string& name, LockUnderTest& mutex, LockUnderTest& second) {
  for (const MutexScripts* scripts : {&kCond, &kCondStop, &kCondPriority, &kCondFork}) {
    for (const MutexScript& s : *scripts)
      add_case(name, mutex, s);
  }
  for (const MutexScript& s : kMoreCond)
    add_case(name, mutex, s).second = &second;
  for (const MutexScript& s : kCondQueue)
    add_case(name, mutex, s).bounds = kQueue;
  for (const MutexScript& s : kCondSpin) {
    Case& c = add_case(name, mutex, s);
    c.second = &second;
    c.spins = true;
  }
  for (const MutexScript& s : kManyCond)
    add_case(name, mutex, s).sampled = true;
  for (const MutexScript& s : kMoreManyCond) {
    Case& c = add_case(name, mutex, s);
    c.sampled = true;
    c.second = &second;
  }
}

}  // namespace lockswap::explore::mutex

namespace lockswap::explore {

void add_cond_cases(Cases& cases) {
  static BargingMutex barging, second(1);
  mutex::MutexBuilder(cases).add_conds("cond/barging/park", barging, second);
}

}  // namespace lockswap::explore
