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
  Claims claims;  // the lock's own
  // What runs behind the name: code of ours; or glibc's functions, also with counting before them;
  // or another lock, which is chosen for the machine.
  const RwCodes* code = nullptr;
  const RwOps* passed_to[2] = {};
  const char* (*chosen)(const Config&) = nullptr;
  // Bytes beside the pthread object, once the topology is known; nullptr if there is none.
  std::size_t (*block_bytes)() = nullptr;
  const char* under = nullptr;    // the lock below BRAVO
  bool biased = false;            // BRAVO's readers
  bool over_glibc = false;        // BRAVO beside glibc's own state, in bytes that it leaves alone
  bool asymmetric = false;        // it needs the kernel's membarrier
  bool reads_recursively = true;  // also while a writer waits
  bool compared_by_default = false;  // where nothing is named

  bool passes_through() const noexcept { return passed_to[0] != nullptr; }
  // A writer's release gives it to a certain thread that waits, also if that one cannot run: see
  // auto.h.
  bool hands_off() const noexcept {
    return !passes_through() && !over_glibc && chosen == nullptr && !info.takes_back &&
           !info.barges;
  }
};

}  // namespace lockswap
