// The locks of other projects on the modelled machine (predict/session.h).
#include "peers/rwlocks.h"
#include "predict/session.h"

namespace lockswap::predict {
namespace {

template <class L>
void add(NamedLocks& to, const char* name, const char* kind) {
  to.push_back({name, kind, false, std::make_unique<L>()});
}

NamedLocks all_peers() {
  NamedLocks all;
  add<peers::FutexMutex>(all, "std::mutex", "mutex");
  add<peers::MicroSpinLock>(all, "MicroSpinLock", "mutex");
  add<peers::PicoSpinLock>(all, "PicoSpinLock", "mutex");
  add<peers::MicroLock>(all, "MicroLock", "mutex");
  add<peers::DistributedMutex>(all, "DistributedMutex", "mutex");
  add<peers::SharedMutex<true>>(all, "SharedMutex", "mutex");
  add<peers::RwSpinLock>(all, "RWSpinLock", "rwlock");
  add<peers::SharedMutex<true>>(all, "SharedMutexWritePriority", "rwlock");
  add<peers::SharedMutex<false>>(all, "SharedMutexReadPriority", "rwlock");
  add<peers::Guarded>(all, "guarded", "rwlock");
  add<peers::FutexMutex>(all, "pthread_mutex", "rwlock");
  add_raw(all);
  return all;
}

}  // namespace
}  // namespace lockswap::predict

int main() {
  lockswap::predict::serve(lockswap::predict::all_peers());
  return 0;
}
