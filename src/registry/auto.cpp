#include "registry/auto.h"

#include "platform/native.h"
#include "platform/topology.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

const char* chosen(const AutoChoice& choice, const Config& config) noexcept {
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return topology.allowed == 1 ? choice.one_cpu : choice.several_cpus;
}

}  // namespace

const char* auto_rwlock(const Config& config) noexcept { return chosen(kAutoRwlock, config); }
const char* auto_rwlock_of_ours() noexcept { return kAutoRwlock.several_cpus; }
const char* auto_mutex(const Config& config) noexcept { return chosen(kAutoMutex, config); }

void resolve_auto(Config& config) noexcept {
  const RwLockInfo& rwlock = rwlock_of(config);
  config.automatic = rwlock.chosen != nullptr;
  if (config.automatic) config.rwlock = rwlock.chosen(config);
  const MutexInfo* mutex = mutex_of(config);
  config.automatic_mutex = mutex != nullptr && mutex->chosen != nullptr;
  if (config.automatic_mutex) config.mutex = mutex->chosen(config);
}

}  // namespace lockswap
