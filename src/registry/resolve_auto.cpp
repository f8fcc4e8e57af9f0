// Replaces `auto` in the configuration by the lock that it stands for on this machine.
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {

void resolve_auto(Config& config) noexcept {
  const RwLockInfo& rwlock = rwlock_of(config);
  config.automatic = rwlock.chosen != nullptr;
  if (config.automatic) config.rwlock = rwlock.chosen(config);
  const MutexInfo* mutex = mutex_of(config);
  config.automatic_mutex = mutex != nullptr && mutex->chosen != nullptr;
  if (config.automatic_mutex) config.mutex = mutex->chosen(config);
}

}  // namespace lockswap
