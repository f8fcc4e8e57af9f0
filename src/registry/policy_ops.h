// A policy at work: tables of functions that look, at each call, what runs the object, and call it.
//
// When it is decided: in the object's init; for an object that was never initialised by a call, in
//   the first call on it. The decision stands in the object, so it goes along where that is copied.
//
//     object                         rwlock: bytes 32-39 (contract word)  mutex: bytes 36-39
//     not decided                    0, as initialisers leave it          0
//     glibc's                        kGlibcsWord, which no lock of ours   kChosen
//                                    has there
//     run by runner r of the policy  the number of the lock's generation  kChosen + r
//                                    leaves the remainder r by kMostRunners
//     never decided                  process-shared ones, robust mutexes and others that
//                                    LOCKSWAP_MUTEX leaves to glibc, too; nothing is stored there
//
// One compare-exchange decides, so threads that come first together agree. That of our rwlocks is
//   the one by which they are adopted.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "config/policy.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"

namespace lockswap {

// interpose knows the modules: the first rule of that kind that the object meets, which is
// initialised or used for the first time by a call that returns to `caller`.
using FindRule = CallSite (*)(const Policy&, ObjectKind, const void* object, const void* caller);

// Set at start-up, before what follows.
inline constinit FindRule find_rule = nullptr;

// Makes ready what the rules of config.policy name, and returns functions that go by them; nullptr,
// with `why` in one line that stays: it cannot be done. They are called once each, at start-up, by
// prepare_rwlock and prepare_mutex.
const RwOps* prepare_policy_of_rwlocks(const Config& config, const char*& why) noexcept;

struct MutexPolicy {
  const MutexOps* ops;    // nullptr if it cannot be done
  MutexOfConds of_conds;  // for condition variables of ours
  bool swaps;             // a rule names a mutex of ours
};
MutexPolicy prepare_policy_of_mutexes(const Config& config, const char*& why) noexcept;

}  // namespace lockswap
