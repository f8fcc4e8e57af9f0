// A library that a program is linked to. ld.so runs its constructor before that of a preloaded one.
// The constructor starts a thread and loads a library (waits.cpp), whose constructor waits until
// that thread has taken its first locks. All the while the loader's lock is held, so a lock call
// that asks the loader for anything hangs here.
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <initializer_list>
#include <pthread.h>
#include <unistd.h>

namespace {

std::atomic<bool> loading{false}, locked{false};

void say(const char* line) {
  std::size_t n = 0;
  while (line[n] != 0)
    ++n;
  if (write(STDERR_FILENO, line, n) < 0) std::abort();
}

void insist(int error, const char* what) {
  if (error == 0) return;
  say(what);
  _exit(1);
}

void* take_first_locks(void*) {
  loading.wait(false);
  say("first call\n");
  static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER, made;
  const timespec far{1L << 40, 0};
  insist(pthread_rwlock_init(&made, nullptr), "init\n");
  for (pthread_rwlock_t* l : {&lock, &made}) {
    insist(pthread_rwlock_rdlock(l), "rdlock\n");
    insist(pthread_rwlock_unlock(l), "unlock\n");
    insist(pthread_rwlock_timedwrlock(l, &far), "timedwrlock\n");
    insist(pthread_rwlock_unlock(l), "unlock\n");
    insist(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &far), "clockrdlock\n");
    insist(pthread_rwlock_unlock(l), "unlock\n");
    insist(pthread_rwlock_destroy(l), "destroy\n");
  }
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  insist(pthread_mutex_lock(&mutex), "mutex_lock\n");
  insist(pthread_cond_broadcast(&cond), "cond_broadcast\n");
  insist(pthread_mutex_unlock(&mutex), "mutex_unlock\n");
  insist(pthread_mutex_timedlock(&mutex, &far), "mutex_timedlock\n");
  insist(pthread_mutex_unlock(&mutex), "mutex_unlock\n");
  insist(pthread_mutex_destroy(&mutex), "mutex_destroy\n");
  locked = true;
  locked.notify_all();
  return nullptr;
}

[[gnu::constructor]] void before_main() {
  if (std::getenv("FIRST_CALL_LIBRARY") == nullptr) return;
  pthread_t thread;
  insist(pthread_create(&thread, nullptr, take_first_locks, nullptr), "pthread_create\n");
  if (dlopen(std::getenv("FIRST_CALL_LIBRARY"), RTLD_NOW) == nullptr) {
    say(dlerror());
    _exit(1);
  }
  pthread_join(thread, nullptr);
}

}  // namespace

// Called by the constructor of the library that is being loaded.
extern "C" void first_call_meanwhile() {
  loading = true;
  loading.notify_all();
  locked.wait(false);
}
