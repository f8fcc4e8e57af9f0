#include "interpose/real_symbols.h"

#include <dlfcn.h>

#include "interpose/objects.h"

namespace lockswap {

void* find_real_symbol(const char* name, const char* version) noexcept {
  if (const link_map* own = own_object(); own != nullptr) {
    if (void* p = find_symbol_from(own->l_next, name, version)) return p;
    if (void* p = find_symbol_from(own->l_next, name, nullptr)) return p;
  }
  // Loaded by dlopen or dlmopen, so in the midst of it: the loader's lock is this thread's.
  void* p = dlvsym(RTLD_NEXT, name, version);
  return p != nullptr ? p : dlsym(RTLD_NEXT, name);
}

namespace {

// Find: (name, version) -> address or nullptr.
template <class Find>
const char* fill_in(RwOps& r, Find find) noexcept {
  const char* missing = nullptr;
  const auto set = [&]<class F>(F& into, const char* name, const char* version) {
    into = reinterpret_cast<F>(find(name, version));
    if (into == nullptr) missing = name;
  };
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

}  // namespace

const char* resolve_real_symbols() noexcept { return fill_in(system_rwlock, &find_real_symbol); }

bool resolve_first_copy(RwOps& ops) noexcept {
  const link_map* own = own_object();
  for (const link_map* m = first_object(); m != nullptr && m != own; m = m->l_next) {
    if (!is_copy(*m)) continue;
    return fill_in(ops, [m](const char* name, const char* version) {
             return find_symbol(*m, name, version);
           }) == nullptr;
  }
  return false;
}

}  // namespace lockswap
