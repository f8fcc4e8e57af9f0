// A library for dlopen: its constructor calls the program while the loader works, and its data has
// locks.
#include <dlfcn.h>
#include <pthread.h>

extern "C" {
[[gnu::visibility("default")]] pthread_rwlock_t lock_in_library = PTHREAD_RWLOCK_INITIALIZER;
[[gnu::visibility("default")]] pthread_rwlock_t zero_lock_in_library;
}

[[gnu::constructor]] static void on_load() {
  using Hook = void (*)();
  auto hook = reinterpret_cast<Hook>(dlsym(RTLD_DEFAULT, "conformance_in_constructor"));
  auto wanted = reinterpret_cast<bool*>(dlsym(RTLD_DEFAULT, "conformance_hook_wanted"));
  if (hook != nullptr && wanted != nullptr && *wanted) hook();
}
