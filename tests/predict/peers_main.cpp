// The locks of other projects on the modelled machine (predict/session.h).
#include "peers/ping_pong.h"
#include "peers/rwlocks.h"
#include "predict/session.h"

namespace lockswap::predict {
namespace {

template <class L>
void add_rwlock(NamedLocks& to, const char* name) {
  add<L>(to, name, "rwlock");
  add<peers::PingPong<L>>(to, name, "ping-pong");
}

NamedLocks all_peers() {
  NamedLocks all;
  add<peers::FutexMutex>(all, "std::mutex", "mutex");
  add<peers::MicroSpinLock>(all, "MicroSpinLock", "mutex");
  add<peers::PicoSpinLock>(all, "PicoSpinLock", "mutex");
  add<peers::MicroLock>(all, "MicroLock", "mutex");
  add<peers::DistributedMutex>(all, "DistributedMutex", "mutex");
  add<peers::SharedMutex<true>>(all, "SharedMutex", "mutex");
  add_rwlock<peers::RwSpinLock>(all, "RWSpinLock");
  add_rwlock<peers::SharedMutex<true>>(all, "SharedMutexWritePriority");
  add_rwlock<peers::SharedMutex<false>>(all, "SharedMutexReadPriority");
  add_rwlock<peers::Guarded>(all, "guarded");
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
