#include "interpose/real_symbols.h"

#include <dlfcn.h>
#include <initializer_list>

#include "interpose/exports.h"
#include "interpose/objects.h"
#include "interpose/real_function.h"
#include "platform/ended_thread.h"
#include "platform/libc_functions.h"
#include "platform/system_tid.h"

namespace lockswap {

namespace {

// A list's functions by glibc's names. Those with a clock are newer than the others.
// NOLINTBEGIN(bugprone-macro-parentheses): string literals are joined.
#define LOCKSWAP_SET(prefix, name, form, version) \
  set(to.name, prefix #name, Form::form == Form::clock ? "GLIBC_2.30" : version);
// NOLINTEND(bugprone-macro-parentheses)
#define LOCKSWAP_SET_RWLOCK(name, act, form, ...) \
  LOCKSWAP_SET("pthread_rwlock_", name, form, LOCKSWAP_OLDEST)
#define LOCKSWAP_SET_MUTEX(name, act, form, ...) \
  LOCKSWAP_SET("pthread_mutex_", name, form, LOCKSWAP_OLDEST)
#define LOCKSWAP_SET_COND(name, act, form, ...) LOCKSWAP_SET("pthread_cond_", name, form, version)

// Find: (name, version) -> the address, or nullptr.
template <class Find>
const char* fill_in(Functions& f, Find find) noexcept {
  const char* missing = nullptr;
  const auto set = [&]<class F>(F& into, const char* name, const char* version) {
    into = reinterpret_cast<F>(find(name, version));
    if (into == nullptr) missing = name;
  };
  [&](RwOps& to) { LOCKSWAP_RWLOCK_FUNCTIONS(LOCKSWAP_SET_RWLOCK) }(f.rwlock);
  [&](MutexOps& to) { LOCKSWAP_MUTEX_FUNCTIONS(LOCKSWAP_SET_MUTEX) }(f.mutex);
  const auto set_conds = [&](CondOps& to, const char* version) {
    LOCKSWAP_COND_FUNCTIONS(LOCKSWAP_SET_COND)
  };
  set_conds(f.cond, LOCKSWAP_SINCE_2_3_2);
  set_conds(f.old_cond, LOCKSWAP_OLDEST);
  return missing;
}

// Before glibc 2.34 a program without threads has no libpthread, and libc has only half of the
// functions. Then this library loads libpthread, as if the program had opened a library that needs
// it. Nobody else is in the loader, because the process has only one thread. Returns false for
// other processes.
bool load_libpthread() noexcept {
  using Open = void* (*)(const char*, int);
  constexpr int kInBaseNamespace = static_cast<int>(0x80000000);  // __RTLD_DLOPEN
  const auto open =
      reinterpret_cast<Open>(find_symbol_from(first_object(), "__libc_dlopen_mode", nullptr));
  return open != nullptr &&
         open("libpthread.so.0", RTLD_NOW | RTLD_GLOBAL | kInBaseNamespace) != nullptr;
}

}  // namespace

void* find_real_function(const char* name, const char* version) noexcept {
  if (const link_map* own = own_object(); own != nullptr) {
    if (void* p = find_symbol_from(own->l_next, name, version)) return p;
    if (void* p = find_symbol_from(own->l_next, name, nullptr)) return p;
    // Preloaded, and the function does not exist. (libc comes after this library.)
    if (find_symbol_from(own->l_next, "abort", nullptr) != nullptr) return nullptr;
  }
  // This library is being loaded by dlopen or dlmopen in this thread, so the thread has the
  // loader's lock.
  void* p = dlvsym(RTLD_NEXT, name, version);
  return p != nullptr ? p : dlsym(RTLD_NEXT, name);
}

void resolve_real_waits(WaitOps& waits) noexcept {
  const auto set = []<class F>(F& into, const char* name, const char* version) {
    into = reinterpret_cast<F>(find_real_function(name, version));
  };
  set(waits.sem_init, "sem_init", LOCKSWAP_OLDEST);
  set(waits.sem_destroy, "sem_destroy", LOCKSWAP_OLDEST);
  set(waits.sem_wait, "sem_wait", LOCKSWAP_OLDEST);
  set(waits.sem_trywait, "sem_trywait", LOCKSWAP_OLDEST);
  set(waits.sem_timedwait, "sem_timedwait", LOCKSWAP_OLDEST);
  set(waits.sem_clockwait, "sem_clockwait", "GLIBC_2.30");
  set(waits.sem_post, "sem_post", LOCKSWAP_OLDEST);
  set(waits.barrier_init, "pthread_barrier_init", LOCKSWAP_OLDEST);
  set(waits.barrier_destroy, "pthread_barrier_destroy", LOCKSWAP_OLDEST);
  set(waits.barrier_wait, "pthread_barrier_wait", LOCKSWAP_OLDEST);
  set(waits.join, "pthread_join", LOCKSWAP_OLDEST);
  set(waits.sem_getvalue, "sem_getvalue", LOCKSWAP_OLDEST);
}

const char* find_single_threaded() noexcept {
  // Loaded by dlmopen: the list belongs to another namespace, whose libc does not know of threads
  // that this one's libc creates.
  if (own_object() == nullptr) return nullptr;
  // The program's copy of the flag comes first, if the linker made one.
  return static_cast<const char*>(
      find_symbol_from(first_object(), "__libc_single_threaded", nullptr));
}

namespace {
// Finds glibc's function, ignoring libraries in between that replace it. Not if dlmopen loaded this
// library: then the list belongs to another namespace, with a glibc of its own.
void* find_glibcs_function(const char* name, const char* version) noexcept {
  if (own_object() != nullptr) {
    for (const char* wanted : {version, static_cast<const char*>(nullptr)}) {
      for (const link_map* m = first_object(); m != nullptr; m = m->l_next) {
        void* p = is_glibcs(*m) ? find_symbol(*m, name, wanted) : nullptr;
        if (p != nullptr) return p;
      }
    }
  }
  return find_real_function(name, version);
}

void resolve_libc_functions() noexcept {
  static constinit Functions found{};
  fill_in(found, &find_glibcs_function);
  const auto set = []<class F>(F& into, const char* name) {
    into = reinterpret_cast<F>(find_glibcs_function(name, LOCKSWAP_OLDEST));
  };
  AttributeOps a{};
  set(a.cond_init, "pthread_condattr_init");
  set(a.cond_setpshared, "pthread_condattr_setpshared");
  set(a.cond_setclock, "pthread_condattr_setclock");
  set(a.mutex_init, "pthread_mutexattr_init");
  set(a.mutex_settype, "pthread_mutexattr_settype");
  set(a.mutex_setpshared, "pthread_mutexattr_setpshared");
  set(a.mutex_setrobust, "pthread_mutexattr_setrobust");
  set(a.mutex_setprotocol, "pthread_mutexattr_setprotocol");
  set(a.rwlock_init, "pthread_rwlockattr_init");
  set(a.rwlock_setpshared, "pthread_rwlockattr_setpshared");
  set(a.rwlock_setkind, "pthread_rwlockattr_setkind_np");
  libc_functions = {found.rwlock, found.mutex, found.cond, a};
}

// Looks up what glibc has for debuggers, at its private version.
void find_thread_id() noexcept {
  if (own_object() == nullptr) return;  // loaded by dlmopen: the list is another namespace's
  const auto word = [](const char* name) {
    const void* p = nullptr;
    for (const link_map* m = first_object(); p == nullptr && m != nullptr; m = m->l_next) {
      if (is_glibcs(*m)) p = find_symbol(*m, name, "GLIBC_PRIVATE");
    }
    return static_cast<const std::uint32_t*>(p);
  };
  const std::uint32_t* const field = word("_thread_db_pthread_tid");
  TidWord::find(field, word("_thread_db_sizeof_pthread"));
  if (TidWord::is_known()) EndedThread::find(field, TidWord::read());
}
}  // namespace

const char* resolve_real_symbols() noexcept {
  static constinit Functions found{};
  const char* missing = fill_in(found, &find_real_function);
  if (missing != nullptr && load_libpthread()) missing = fill_in(found, &find_real_function);
  system_rwlock = found.rwlock;
  system_mutex = found.mutex;
  system_cond = found.cond;
  system_old_cond = found.old_cond;
  resolve_libc_functions();
  find_thread_id();
  resolve_moved_functions();
  resolve_thread_functions();
  return missing;
}

bool resolve_first_copy(Functions& functions) noexcept {
  const link_map* own = own_object();
  for (const link_map* m = first_object(); m != nullptr && m != own; m = m->l_next) {
    if (!is_copy(*m)) continue;
    return fill_in(functions, [m](const char* name, const char* version) {
             return find_symbol(*m, name, version);
           }) == nullptr;
  }
  return false;
}

}  // namespace lockswap
