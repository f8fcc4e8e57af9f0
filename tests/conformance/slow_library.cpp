// A library that is loaded by dlopen: its constructor lets the program do something meanwhile, and
// its data holds locks.
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
