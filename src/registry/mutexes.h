// The registry of mutexes: what a user may type, and what runs behind it.
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
  // What runs behind the name: code of ours; nullptr means glibc's code, or another mutex, which is
  // chosen for the machine.
  const MutexCodes* code = nullptr;
  const char* (*chosen)(const Config&) = nullptr;
  // Bytes beside the pthread object, once the topology is known; nullptr if there is none.
  std::size_t (*block_bytes)() = nullptr;
  const char* same_code_as = nullptr;  // the name under which that code is tested
  bool compared_by_default = false;    // where nothing is named

  bool passes_through() const noexcept { return code == nullptr && chosen == nullptr; }
  // A release gives it to a certain thread that waits, also if that one cannot run: see auto.h.
  bool hands_off() const noexcept { return code != nullptr && !info.takes_back && !info.barges; }
};

struct Mutexes {
  const MutexInfo* rows;
  int count;
};
Mutexes mutexes() noexcept;

// Bytes of one such mutex on this machine: the pthread object, and what lies beside it. Reads the
// topology.
std::size_t footprint_of(const MutexInfo& mutex, const Config& config) noexcept;

// Returns nullptr if there is none of that name or alias, in whichever case.
const MutexInfo* find_mutex(const char* name) noexcept;
// The mutex that the configuration names; nullptr if there is none.
const MutexInfo* mutex_of(const Config& config) noexcept;

// Returns whether some mutexes are ours under that configuration; whether LOCKSWAP_STATS counts
// mutexes, and condition variables.
bool swaps_mutexes(const Config& config) noexcept;
bool counts_mutexes(const Config& config) noexcept;
bool counts_conds(const Config& config) noexcept;

// Returns whether condition variables are ours under that configuration.
bool swaps_conds(const Config& config) noexcept;

// The functions of mutexes and condition variables that go together.
struct MutexChoice {
  const MutexOps* mutex;
  const CondOps* cond;
  const CondOps* old_cond;
};
// Makes ready what the configuration asks for. It is called once, at start-up, after
// prepare_rwlock, when system_mutex and the tables beside it are filled in. Returns false if it
// cannot be done, and `why` says why in one line, which stays.
bool prepare_mutex(const Config& config, MutexChoice& choice, const char*& why) noexcept;

}  // namespace lockswap
