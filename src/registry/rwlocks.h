// The registry of reader-writer locks: what a user may type, and what runs behind it.
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

// Returns nullptr if there is none of that name or alias, in whichever case.
const RwLockInfo* find_rwlock(const char* name) noexcept;

// The lock that the configuration names; where it names none, the one that is passed through.
const RwLockInfo& rwlock_of(const Config& config) noexcept;

// Called at start-up. Replaces `auto` by the names that it stands for here, of rwlock and of mutex.
void resolve_auto(Config& config) noexcept;

// Makes ready what the configuration asks for and returns its functions. It is called once, at
// start-up, when system_rwlock is filled in. Returns nullptr if it cannot be done, and `why` says
// why in one line.
const RwOps* prepare_rwlock(const Config& config, const char*& why) noexcept;

// The same for one lock that a policy names, once the process is ready (policy_ops.h).
const RwOps* prepare_rwlock_of(const RwLockInfo& named, const Config& config, bool count,
                               const char*& why) noexcept;

// The same for a further lock, which is not the configuration's but runs inside of a range lock. It
// is not counted. Only one thread at a time may call this.
const RwOps* prepare_further_rwlock(const RwLockInfo& lock, const Config& config,
                                    const char*& why) noexcept;

}  // namespace lockswap
