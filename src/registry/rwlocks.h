// The registry of reader-writer locks: what a user may type, and what runs behind it.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "locks/common/claims.h"
#include "locks/common/lock_info.h"
#include "platform/system_rwlock.h"
#include "registry/waits.h"

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
  // Bytes beside the pthread object, once the topology is known; nullptr: none.
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

struct RwLocks {
  const RwLockInfo* rows;
  int count;
};
// More than there are.
constexpr int kMostRwLocks = 64;
RwLocks rwlocks() noexcept;

struct Waits {
  const WaitInfo* rows;
  int count;
};
Waits waits() noexcept;

// Bytes of one such lock on this machine: the pthread object, and what lies beside it. Reads the
// topology.
std::size_t footprint_of(const RwLockInfo& lock, const Config& config) noexcept;

// nullptr: there is none of that name or alias, in whichever case.
const RwLockInfo* find_rwlock(const char* name) noexcept;

// The lock that the configuration names; where it names none, the one that is passed through.
const RwLockInfo& rwlock_of(const Config& config) noexcept;

// At start-up, replaces `auto` by the names that it stands for here, of rwlock and of mutex.
void resolve_auto(Config& config) noexcept;

// Makes ready what the configuration asks for and returns its functions. It is called once, at
// start-up, when system_rwlock is filled in. nullptr: it cannot be done, and `why` says why in one
// line.
const RwOps* prepare_rwlock(const Config& config, const char*& why) noexcept;

// The same for one lock that a policy names, once the process is ready (policy_ops.h).
const RwOps* prepare_rwlock_of(const RwLockInfo& named, const Config& config, bool count,
                               const char*& why) noexcept;

// The same for a further lock, which is not the configuration's but runs inside of a range lock. It
// is not counted. Only one thread at a time may call this.
const RwOps* prepare_further_rwlock(const RwLockInfo& lock, const Config& config,
                                    const char*& why) noexcept;

}  // namespace lockswap
