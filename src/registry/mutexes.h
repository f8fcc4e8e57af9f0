// The registry of mutexes: the names that a user may type, and the code for each.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "locks/common/lock_info.h"
#include "platform/system_mutex.h"

namespace lockswap {

inline constexpr const char* kNoQueueNodes =
    "no memory for queue nodes; raise the limit (ulimit -v)";

struct MutexCodes;

struct MutexInfo {
  const char* name;
  LockInfo info;
  // The code for this name. nullptr for glibc's code, or for another mutex, which is chosen for the
  // machine.
  const MutexCodes* code = nullptr;
  const char* (*chosen)(const Config&) = nullptr;
  // The bytes that a lock has outside its pthread object, once the topology is known; nullptr if
  // none.
  std::size_t (*block_bytes)() = nullptr;
  const char* same_code_as = nullptr;  // the name under which this code is tested
  bool compared_by_default = false;    // if no lock is named

  bool passes_through() const noexcept { return code == nullptr && chosen == nullptr; }
  // Returns whether a release hands the mutex to a certain waiter, even if that one can't run:
  // auto.h.
  bool hands_off() const noexcept { return code != nullptr && !info.takes_back && !info.barges; }
};

struct Mutexes {
  const MutexInfo* rows;
  int count;
};
Mutexes mutexes() noexcept;

// Returns the bytes of one such mutex on this machine: the pthread object, and what it has outside.
// Reads the topology.
std::size_t footprint_of(const MutexInfo& mutex, const Config& config) noexcept;

// Returns nullptr if there is no such name or alias. Case does not matter.
const MutexInfo* find_mutex(const char* name) noexcept;
// Returns the mutex that the configuration names, or nullptr.
const MutexInfo* mutex_of(const Config& config) noexcept;

// Return whether some mutexes are ours under that configuration; and whether LOCKSWAP_STATS counts
// mutexes, and condition variables.
bool swaps_mutexes(const Config& config) noexcept;
bool counts_mutexes(const Config& config) noexcept;
bool counts_conds(const Config& config) noexcept;

// Returns whether condition variables are ours under that configuration.
bool swaps_conds(const Config& config) noexcept;

// The functions of mutexes, with those of condition variables that go with them.
struct MutexChoice {
  const MutexOps* mutex;
  const CondOps* cond;
  const CondOps* old_cond;
};
// Prepares what the configuration names. Called once at start-up, after prepare_rwlock, when
// system_mutex and the tables beside it are filled in. Returns false on failure, with the reason in
// `why`, in one line that stays.
bool prepare_mutex(const Config& config, MutexChoice& choice, const char*& why) noexcept;

}  // namespace lockswap
