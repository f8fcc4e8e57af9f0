// A process that has one thread, at each edge of that: what its mutexes spare themselves then must
// show nowhere.
//
// usage: single_threaded SCENARIO [LIBRARY]
//   updates         prints how many atomic updates a lock and an unlock make, alone and beside a
//                   thread that sleeps
//   handler         a signal handler that locks and unlocks comes before each instruction of them
//   toy             the same with a lock whose update is a load and a store: must fail
//   thread          a handler that begins a thread comes there
//   held            a second thread begins while the mutex is held, in turn of each kind
//   again           threads have ended, and the C library says that there is one again
//   fork            processes with one thread and with two fork, with the mutex held and waited for
//   load LIBRARY    a library that begins a thread is loaded while the mutex is held
// Status: 0; 1 and a line on stderr; 77: this cannot be asked here.

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <initializer_list>
#include <pthread.h>
#include <unistd.h>

#include <sys/resource.h>
#include <sys/wait.h>

#include "stepping.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's name for it
extern "C" __attribute__((weak)) char __libc_single_threaded;

extern "C" {
extern pthread_mutex_t shown_mutex;
extern int shown_counter;
pthread_mutex_t shown_mutex = PTHREAD_MUTEX_INITIALIZER;
int shown_counter = 0;
}

namespace {

[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::fprintf(stderr, "single_threaded: ");
  std::vfprintf(stderr, format, args);
  std::fprintf(stderr, "\n");
  _exit(1);
}
void need(bool holds, const char* what) {
  if (!holds) fail("%s", what);
}
// As a later C library may, when other threads have ended.
void say_alone() {
  if (&__libc_single_threaded != nullptr) __libc_single_threaded = 1;
}

void nap(long microseconds) {
  const timespec t{0, microseconds * 1000};
  nanosleep(&t, nullptr);
}

pthread_mutex_t& mutex = shown_mutex;
pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;

// How many hold the mutex, and what it protects.
std::atomic<int> inside{0};
int& counter = shown_counter;

void enter() {
  if (inside.fetch_add(1) != 0) fail("two are inside, before instruction %ld", stepping::number);
  ++counter;
}
void leave() { inside.fetch_sub(1); }
void pair() {
  pthread_mutex_lock(&mutex);
  enter();
  leave();
  pthread_mutex_unlock(&mutex);
}

class Thread {
 public:
  explicit Thread(void* (*run)(void*), void* argument = nullptr) {
    if (pthread_create(&thread_, nullptr, run, argument) != 0) fail("no thread");
  }
  ~Thread() { pthread_join(thread_, nullptr); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

 private:
  pthread_t thread_{};
};

long context_switches() {
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}
// Under mutexes that are handed off, each pair may cost a wait for a processor, and a busy machine
// would need hours for all of them.
constexpr int kPairs = 2000, kContextSwitches = 20, kPairsPerLook = 4;
void* make_pairs(void* made) {
  const long end = context_switches() + kContextSwitches;
  int i = 0;
  for (; i < kPairs && (i % kPairsPerLook != 0 || context_switches() < end); ++i)
    pair();
  *static_cast<int*>(made) = i;
  return nullptr;
}
// Two threads at once; then the mutex must be as it was at first.
void use_by_two() {
  const int before = counter;
  int ones = 0, twos = 0;
  { const Thread one(make_pairs, &ones), two(make_pairs, &twos); }
  need(counter == before + ones + twos, "an acquisition excluded nobody");
  need(pthread_mutex_trylock(&mutex) == 0, "a free mutex cannot be had");
  pthread_mutex_unlock(&mutex);
}

// Runs it in a child; its failure is this process's.
template <class Run>
void in_child(const Run& run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) fail("signal %d", WTERMSIG(status));
  if (status != 0) _exit(1);
}

// --- updates

long atomic_updates = 0;
long updates_of_a_pair() {
  stepping::before = [](long, const unsigned char* code) {
    atomic_updates += stepping::is_atomic_update(code) ? 1 : 0;
    return true;
  };
  atomic_updates = 0;
  stepping::begin();
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  stepping::end();
  return atomic_updates;
}
void updates() {
  std::printf("alone %ld\n", updates_of_a_pair());
  static std::atomic<bool> ends;
  const Thread sleeper([](void*) -> void* {
    while (!ends.load())
      nap(1000);
    return nullptr;
  });
  std::printf("beside %ld\n", updates_of_a_pair());
  ends = true;
}

// --- handler, toy

// Loads and stores are single, and a handler comes between them. Its waits end.
class Toy {
 public:
  bool lock() {
    const int mine = next_;
    next_ = mine + 1;
    for (int i = 0; i < 1000; ++i) {
      if (shown_ == mine) return true;
    }
    return false;
  }
  bool try_lock() {
    if (next_ != shown_) return false;
    next_ = next_ + 1;
    return true;
  }
  void unlock() { shown_ = shown_ + 1; }

 private:
  volatile int next_ = 0, shown_ = 0;
};
struct Real {
  static bool lock() { return pthread_mutex_lock(&mutex) == 0; }
  static bool try_lock() { return pthread_mutex_trylock(&mutex) == 0; }
  static void unlock() { pthread_mutex_unlock(&mutex); }
};

template <class Lock>
Lock lock_under_test;
long stop_at, had, refused;

template <class Lock>
bool lock_in_handler(long number, const unsigned char*) {
  if (number != stop_at) return true;
  pthread_mutex_lock(&other);
  if (lock_under_test<Lock>.try_lock()) {
    ++had;
    enter();
    leave();
    lock_under_test<Lock>.unlock();
  } else {
    ++refused;
  }
  pthread_mutex_unlock(&other);
  return true;
}
template <class Lock>
void handler() {
  stepping::before = lock_in_handler<Lock>;
  Lock& lock = lock_under_test<Lock>;
  for (stop_at = 1;; ++stop_at) {
    const long before = had + refused;
    stepping::begin();
    bool got = lock.lock();
    if (got) enter();
    if (got) leave();
    if (got) lock.unlock();
    stepping::end();
    if (!got) fail("a free mutex cannot be had: a handler came before instruction %ld", stop_at);
    if (!lock.try_lock()) fail("it stays locked: a handler came before instruction %ld", stop_at);
    lock.unlock();
    if (had + refused == before) break;
  }
  std::printf("had %ld\nrefused %ld\n", had, refused);
  use_by_two();
}

// --- thread

pthread_t begun;
std::atomic<bool> has_it;
void* hold_for_a_while(void*) {
  pthread_mutex_lock(&mutex);
  has_it = true;
  enter();
  nap(500);
  leave();
  pthread_mutex_unlock(&mutex);
  return nullptr;
}
// The process is one of two threads when the interrupted instruction goes on.
bool begin_in_handler(long number, const unsigned char*) {
  if (number != stop_at) return true;
  pthread_create(&begun, nullptr, hold_for_a_while, nullptr);
  for (int i = 0; i < 20 && !has_it.load(); ++i)
    nap(50);
  return false;
}
void thread() {
  stepping::before = begin_in_handler;
  stop_at = 0;
  stepping::begin();
  pair();
  stepping::end();
  const long length = stepping::number;
  for (stop_at = 1; stop_at <= length; ++stop_at) {
    in_child([] {
      const int before = counter;
      stepping::begin();
      pair();
      stepping::end();
      pthread_join(begun, nullptr);
      need(counter == before + 2, "a section was lost");
      use_by_two();
    });
  }
  std::printf("threads %ld\n", length);
}

// --- held

void* make_pair(void*) {
  pair();
  return nullptr;
}
void held() {
  constexpr int kKinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                            PTHREAD_MUTEX_ADAPTIVE_NP};
  for (const int kind : kKinds) {
    in_child([kind] {
      pthread_mutexattr_t attributes;
      pthread_mutexattr_init(&attributes);
      pthread_mutexattr_settype(&attributes, kind);
      pthread_mutex_init(&mutex, &attributes);
      pthread_mutex_lock(&mutex);
      inside = 1;
      {
        const Thread second(make_pair);
        nap(20'000);  // it sleeps
        need(counter == 0, "a mutex that was taken alone excludes nobody");
        inside = 0;
        pthread_mutex_unlock(&mutex);
      }
      need(counter == 1, "the second thread was not inside");
      use_by_two();
    });
  }
}

// --- again

void again() {
  for (int i = 0; i < 200; ++i) {
    pair();
    pthread_mutex_lock(&mutex);
    inside = 1;
    {
      const Thread one(make_pair), two(make_pair);
      if (i % 2 == 0) nap(200);
      inside = 0;
      pthread_mutex_unlock(&mutex);
      pair();
    }
    say_alone();
  }
  need(counter == 200 * 4, "a section was lost");
  use_by_two();
}

// --- fork

void fork_everywhere() {
  // Alone, with the mutex held: it is held on both sides.
  pthread_mutex_lock(&mutex);
  in_child([] {
    need(pthread_mutex_trylock(&mutex) == EBUSY, "the child does not hold what its parent held");
    pthread_mutex_unlock(&mutex);
    use_by_two();
  });
  pthread_mutex_unlock(&mutex);
  // Beside a thread that holds it, and one that waits; then neither.
  static std::atomic<bool> ends;
  pthread_mutex_lock(&mutex);
  {
    const Thread waits(make_pair);
    nap(20'000);
    in_child([] {
      pthread_mutex_unlock(&mutex);
      for (int i = 0; i < kPairs; ++i)
        pair();
      use_by_two();
    });
    pthread_mutex_unlock(&mutex);
  }
  // In a child of two threads the C library need not say that there is one, and may.
  in_child([] {
    say_alone();
    pair();
    use_by_two();
  });
  use_by_two();
}

// --- load

void load(const char* library) {
  pthread_mutex_lock(&mutex);
  void* const loaded = dlopen(library, RTLD_NOW);
  if (loaded == nullptr) fail("%s", dlerror());
  nap(20'000);  // its thread waits
  need(counter == 0, "a mutex that was taken alone excludes nobody");
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 1000; ++i)
    pair();
  const auto join = reinterpret_cast<int (*)()>(dlsym(loaded, "late_thread_join"));
  need(join != nullptr && join() == 0, "its thread cannot be joined");
  need(counter == 2000, "a section was lost");
  use_by_two();
}

}  // namespace

int main(int argc, char** argv) {
  const char* const scenario = argc > 1 ? argv[1] : "";
  const auto is = [scenario](const char* name) { return std::strcmp(scenario, name) == 0; };
  // Each function has been called once: what is looked up, asked for or allocated is there.
  for (pthread_mutex_t* m : {&mutex, &other}) {
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    if (pthread_mutex_trylock(m) == 0) pthread_mutex_unlock(m);
  }
  stepping::prepare();
  const bool steps = is("updates") || is("handler") || is("toy") || is("thread");
  if (steps && !stepping::kWorks) return 77;
  if (is("updates")) {
    updates();
  } else if (is("handler")) {
    handler<Real>();
  } else if (is("toy")) {
    handler<Toy>();
  } else if (is("thread")) {
    thread();
  } else if (is("held")) {
    held();
  } else if (is("again")) {
    again();
  } else if (is("fork")) {
    fork_everywhere();
  } else if (is("load") && argc == 3) {
    load(argv[2]);
  } else {
    std::fprintf(stderr, "usage: single_threaded SCENARIO [LIBRARY]\n");
    return 2;
  }
  return 0;
}
