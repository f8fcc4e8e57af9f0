// Applies a policy: functions that check, at each call, what runs the object, and call that.
//
// Decision: it is made in the object's init or, for an object without one, in the first call on it.
//   It is stored in the object, so it remains valid if the object is copied.
//
//     object                         rwlock: bytes 32-39 (contract word)  mutex: bytes 36-39
//     undecided                      0, as initialisers leave it          0
//     glibc's                        kGlibcsWord, which no lock of ours   kChosen
//                                    has there
//     run by runner r of the policy  the number of the lock's generation  kChosen + r
//                                    is r modulo kMostRunners
//     never decided                  process-shared objects, robust mutexes and others that
//                                    LOCKSWAP_MUTEX also leaves to glibc; nothing is stored there
//
// Order: one compare-exchange decides, so threads that come first together agree. For our rwlocks
//   it is also the one by which they are adopted.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "config/policy.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap {

// Finds the first rule for that kind that the object matches, when it is initialised or first used
// by a call that returns to `caller`. interpose provides this, because it knows the modules.
using FindRule = CallSite (*)(const Policy&, ObjectKind, const void* object, const void* caller);

// Set at start-up, before the functions below are called.
inline constinit FindRule find_rule = nullptr;

// Prepare what the rules of config.policy name, and return functions that apply them. On failure
// they return nullptr, with the reason in `why`, in one line that stays. prepare_rwlock and
// prepare_mutex call them once each, at start-up.
const RwOps* prepare_policy_of_rwlocks(const Config& config, const char*& why) noexcept;

struct MutexPolicy {
  const MutexOps* ops;    // nullptr on failure
  MutexOfConds of_conds;  // for condition variables of ours
  bool swaps;             // a rule names a mutex of ours
};
MutexPolicy prepare_policy_of_mutexes(const Config& config, const char*& why) noexcept;

}  // namespace lockswap
