// The registry of reader-writer locks: the names that a user may type, and the code for each.
#pragma once

#include <cstddef>

#include "config/config.h"
#include "platform/system_rwlock.h"
#include "registry/rw_lock_info.h"
#include "registry/waits.h"

namespace lockswap {

struct RwLocks {
  const RwLockInfo* rows;
  int count;
};
// More than exist.
constexpr int kMostRwLocks = 64;
RwLocks rwlocks() noexcept;

struct Waits {
  const WaitInfo* rows;
  int count;
};
Waits waits() noexcept;

// Returns the bytes of one such lock on this machine: the pthread object, and what it has outside.
// Reads the topology.
std::size_t footprint_of(const RwLockInfo& lock, const Config& config) noexcept;

// Returns nullptr if there is no such name or alias. Case does not matter.
const RwLockInfo* find_rwlock(const char* name) noexcept;

// Returns the lock that the configuration names, or the one that is passed through if it names
// none.
const RwLockInfo& rwlock_of(const Config& config) noexcept;

// Called at start-up. Replaces `auto`, for rwlocks and mutexes, by the lock that it stands for
// here.
void resolve_auto(Config& config) noexcept;

// Prepares what the configuration names, and returns its functions. Called once at start-up, when
// system_rwlock is filled in. Returns nullptr on failure, with the reason in `why`, in one line.
const RwOps* prepare_rwlock(const Config& config, const char*& why) noexcept;

// The same for a lock that a policy names, once the process is ready (policy_ops.h).
const RwOps* prepare_rwlock_of(const RwLockInfo& named, const Config& config, bool count,
                               const char*& why) noexcept;

// The same for another lock, which is used inside a range lock and is not the configuration's. It
// is not counted. Only one thread at a time may call this.
const RwOps* prepare_further_rwlock(const RwLockInfo& lock, const Config& config,
                                    const char*& why) noexcept;

}  // namespace lockswap
