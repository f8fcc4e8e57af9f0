// A row of the registry of reader-writer locks.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/system_rwlock.h"

namespace lockswap {

struct RwCodes;

struct RwLockInfo {
  const char* name;
  LockInfo info;
  Claims claims;  // those of the lock itself
  // The code for this name. nullptr for glibc's functions, with or without counting, or for another
  // lock, which is chosen for the machine.
  const RwCodes* code = nullptr;
  const RwOps* passed_to[2] = {};
  const char* (*chosen)(const Config&) = nullptr;
  // The bytes that a lock has outside its pthread object, once the topology is known; nullptr if
  // none.
  std::size_t (*block_bytes)() = nullptr;
  const char* under = nullptr;    // the lock below, for BRAVO
  bool biased = false;            // with BRAVO's readers
  bool over_glibc = false;        // BRAVO over glibc's own state, in bytes that glibc does not use
  bool asymmetric = false;        // it needs the kernel's membarrier
  bool reads_recursively = true;  // also while a writer waits
  bool compared_by_default = false;  // if no lock is named

  bool passes_through() const noexcept { return passed_to[0] != nullptr; }
  // Returns whether a writer's release hands the lock to a certain waiter, even if that one can't
  // run: auto.h.
  bool hands_off() const noexcept {
    return !passes_through() && !over_glibc && chosen == nullptr && !info.takes_back &&
           !info.barges;
  }
};

}  // namespace lockswap
