#include "audit/real.h"

#include "interpose/real_symbols.h"

namespace lockswap::audit {
namespace {

#if defined(__x86_64__)
constexpr const char* kCondVersion = "GLIBC_2.3.2";  // the one before has another layout
#else
constexpr const char* kCondVersion = kOldVersion;
#endif

}  // namespace

const char* resolve_other_symbols() noexcept {
  const char* missing = nullptr;
  const auto set = [&missing]<class F>(F& into, const char* name, const char* version) {
    into = reinterpret_cast<F>(find_real_symbol(name, version));
    if (into == nullptr) missing = name;
  };
  OtherOps& r = system_other;
  set(r.mutex_init, "pthread_mutex_init", kOldVersion);
  set(r.mutex_destroy, "pthread_mutex_destroy", kOldVersion);
  set(r.mutex_lock, "pthread_mutex_lock", kOldVersion);
  set(r.mutex_trylock, "pthread_mutex_trylock", kOldVersion);
  set(r.mutex_timedlock, "pthread_mutex_timedlock", kOldVersion);
  set(r.mutex_clocklock, "pthread_mutex_clocklock", "GLIBC_2.30");
  set(r.mutex_unlock, "pthread_mutex_unlock", kOldVersion);
  set(r.cond_init, "pthread_cond_init", kCondVersion);
  set(r.cond_clockwait, "pthread_cond_clockwait", "GLIBC_2.30");
  return missing;
}

}  // namespace lockswap::audit
