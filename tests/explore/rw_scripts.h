// What threads do in the cases of reader-writer locks; see script.h.
#pragma once

#include <string>
#include <vector>

#include "script.h"

namespace lockswap::explore::rw {

struct Script {
  const char* name;
  std::vector<std::string> threads;
  const Bounds* quick = nullptr;  // nullptr means by the lock and the number of threads
  bool somebody_gets_in = false;  // one acquisition at least must succeed
  bool readers_meet = false;      // a reader stays in until another one is in
};
using Scripts = std::vector<Script>;

extern const Scripts kGeneral;
extern const Scripts kGiveUp;
extern const Scripts kAgain;
extern const Scripts kTries;
extern const Scripts kMany;
extern const Scripts kDestroy;
extern const Scripts kContract;
extern const Scripts kFork;
extern const Scripts kPatience;
extern const Scripts kPriorities;  // of phase-fair locks that sleep
extern const Scripts kPatienceMany;
extern const Scripts kManyContract;
extern const Scripts kAfterTimeOut;
extern const Scripts kFar;
extern const Scripts kMoreContract;
extern const Scripts kTwoLocks;
extern const Scripts kCrossed;
extern const Scripts kMoreFork;
extern const Scripts kWound;
extern const Scripts kWoundGenerations;
extern const Script kChannels;
// For locks that ration hand-offs.
extern const Scripts kRationed;
extern const Script kOldest;
extern const Script kTwoHandOffs;
extern const Scripts kRationedMany;
extern const Scripts kUrgent;
extern const Script kSamePlace;
extern const Script kComesRound;
extern const Script kForkNew;
extern const Script kForkAbove;
extern const Script kGivenUpTwice;
extern const Script kOutBetween;
constexpr Bounds kComesRoundBounds{2, 0, 0, 1, 0};
// For quick runs of scripts whose own events bring the threads to where it happens: the orders are
// explored by the scripts that leave them free.
constexpr Bounds kSequence{1, 0, 0, 1};
constexpr Bounds kOneSwitch{1, 0, 0, 0};
// Where it takes a second switch.
constexpr Bounds kSwitches{2, 0, 0, 1};
// The same, where deadlines pass only when nobody can go on.
inline constexpr Bounds kSwitchesInTime{2, 0, 0, 0};
constexpr Bounds kSmallRationed{2, 1, 0, 1};
constexpr Bounds kTwoHandOffsBounds{2, 2, 0, 0};
constexpr Bounds kTwoHandOffsQuick{1, 2, 0, 0};
// Four threads, or two that do much.
constexpr Bounds kNoStale{1, 0, 1, 1};
constexpr Bounds kFewerStale{2, 1, 1, 1};
constexpr Bounds kGivenUpTwiceBounds{1, 0, 0, 2, 0};
constexpr Bounds kOutBetweenBounds{1, 0, 0, 1, 0};

// Those of the general scripts that every lock and wait policy runs.
constexpr const char* kEach[] = {"1w2r", "2w1r"};
// BRAVO: reads after the bias was taken away, of which each second one may put it back.
extern const Scripts kUnbiased;
// The same over glibc's lock, of which only what it does itself can be asked.
constexpr const char* kForkSystems[] = {"fork-reader", "fork-recursive", "fork-hold-stays",
                                        "fork-write",  "fork-crowd-w",   "fork-again-w"};

// Those of the scripts about patience that every lock and wait policy runs; and, of all scripts,
// those in which patience may run out at any time.
constexpr const char* kPatienceEach[] = {"helper"};
constexpr const char* kImpatient[] = {"1w2r",       "2w1r",      "timed-write",
                                      "timed-read", "recursive", "foreign",
                                      "fork-1w1r",  "fork-hold", "marked-meanwhile"};

const Script& general(const std::string& name);
const Script& contract(const std::string& name);
const Script& patience(const std::string& name);
const Script& fork(const std::string& name);
bool destroys(const Script& s);  // whether the lock is gone at the end

}  // namespace lockswap::explore::rw
