#include "interpose/real_symbols.h"

#include <dlfcn.h>

#include "platform/system_rwlock.h"

namespace lockswap {
namespace {

#if defined(__x86_64__)
constexpr const char* kOldVersion = "GLIBC_2.2.5";
#else
constexpr const char* kOldVersion = "GLIBC_2.17";
#endif

void* find(const char* name, const char* version) noexcept {
  void* p = dlvsym(RTLD_NEXT, name, version);
  return p != nullptr ? p : dlsym(RTLD_NEXT, name);
}

}  // namespace

const char* resolve_real_symbols() noexcept {
  const char* missing = nullptr;
  const auto set = [&missing]<class F>(F& into, const char* name, const char* version) {
    into = reinterpret_cast<F>(find(name, version));
    if (into == nullptr) missing = name;
  };
  RwOps& r = system_rwlock;
  set(r.init, "pthread_rwlock_init", kOldVersion);
  set(r.destroy, "pthread_rwlock_destroy", kOldVersion);
  set(r.rdlock, "pthread_rwlock_rdlock", kOldVersion);
  set(r.tryrdlock, "pthread_rwlock_tryrdlock", kOldVersion);
  set(r.timedrdlock, "pthread_rwlock_timedrdlock", kOldVersion);
  set(r.clockrdlock, "pthread_rwlock_clockrdlock", "GLIBC_2.30");
  set(r.wrlock, "pthread_rwlock_wrlock", kOldVersion);
  set(r.trywrlock, "pthread_rwlock_trywrlock", kOldVersion);
  set(r.timedwrlock, "pthread_rwlock_timedwrlock", kOldVersion);
  set(r.clockwrlock, "pthread_rwlock_clockwrlock", "GLIBC_2.30");
  set(r.unlock, "pthread_rwlock_unlock", kOldVersion);
  return missing;
}

}  // namespace lockswap
