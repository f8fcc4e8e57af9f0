// A signal handler that takes reader-writer locks comes before each instruction of a call that
// reads or releases one: no record of the thread's holds may be false afterwards.
//
// usage: handlers list | SCENARIO FIRST STEP
// Every STEPth instruction, from number FIRST on, has a process of its own, in which the locks are
// new. Prints how many instructions there were.
// Status: 0; 1 and a line on stderr; 77: this cannot be asked here.

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <pthread.h>
#include <unistd.h>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "stepping.h"

namespace {

// Two that are held beside, the one of the call, and a handler's.
pthread_rwlock_t s = PTHREAD_RWLOCK_INITIALIZER, x = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t b = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t d = PTHREAD_RWLOCK_INITIALIZER, e = PTHREAD_RWLOCK_INITIALIZER;
constexpr struct {
  const char* name;
  pthread_rwlock_t* lock;
} kLocks[] = {{"s", &s}, {"x", &x}, {"b", &b}, {"d", &d}, {"e", &e}};

const char* scenario_name;
long stop_at;

[[noreturn]] void fail(const char* what, const char* lock) {
  std::fprintf(stderr, "handlers: %s: a handler came before instruction %ld: %s %s\n",
               scenario_name, stop_at, lock, what);
  _exit(1);
}

void nap(long nanoseconds) {
  const timespec t{0, nanoseconds};
  nanosleep(&t, nullptr);
}
int read(pthread_rwlock_t& l) { return pthread_rwlock_rdlock(&l); }
int release(pthread_rwlock_t& l) { return pthread_rwlock_unlock(&l); }

// --- another thread, which does what it is asked to

int (*asked)();
int answer;
std::atomic<int> is_asked{0};

// std::atomic's own functions for this yield the processor first, which a busy machine keeps.
void tell(int asks) {
  is_asked = asks;
  syscall(SYS_futex, &is_asked, FUTEX_WAKE_PRIVATE, 1);
}
void wait_until(int asks) {
  while (is_asked.load() != asks)
    syscall(SYS_futex, &is_asked, FUTEX_WAIT_PRIVATE, 1 - asks, nullptr);
}
void* do_what_is_asked(void*) {
  for (;;) {
    wait_until(1);
    answer = asked();
    tell(0);
  }
}
// Also from a handler. The other thread never waits for a lock.
int let_another(int (*what)()) {
  asked = what;
  tell(1);
  wait_until(0);
  return answer;
}

pthread_rwlock_t* looked_at;
// Nobody has it, a writer excludes this thread, and then this thread can read it.
void need_free(pthread_rwlock_t& l, const char* name) {
  looked_at = &l;
  if (let_another([] { return pthread_rwlock_trywrlock(looked_at); }) != 0)
    fail("stays read", name);
  if (pthread_rwlock_tryrdlock(&l) != EBUSY) fail("is read beside a writer", name);
  if (let_another([] { return pthread_rwlock_unlock(looked_at); }) != 0)
    fail("stays written", name);
  if (read(l) != 0 || release(l) != 0) fail("cannot be read", name);
}

// --- scenarios

// What is read before; the call, before each instruction of which the handler comes; what is
// released afterwards.
struct Scenario {
  const char* name;
  void (*before)();
  void (*call)();
  void (*handler)();
  void (*after)();
};

void two_in_handler() {
  read(d);
  read(e);
  release(d);
  release(e);
}
// A hold of the interrupted thread ends in the other one, as programs do that pass on what they
// have locked. Afterwards no record of that lock counts.
int release_s() { return release(s); }
// A third thread ends the hold of another one. It may have to wait for the interrupted thread, so
// the handler waits for a moment only.
pthread_t third;
bool has_third = false;
std::atomic<bool> has_ended{false};
void third_ends_b() {
  const auto body = [](void*) -> void* {
    release(b);
    has_ended = true;
    return nullptr;
  };
  has_third = pthread_create(&third, nullptr, body, nullptr) == 0;
  for (int i = 0; i < 100 && !has_ended.load(); ++i)
    nap(100'000);
}
void nothing() {}

constexpr Scenario kScenarios[] = {
    {"last-ends",
     [] {
       read(s);
       read(b);
       let_another(release_s);
     },
     [] { release(b); }, two_in_handler, nothing},
    {"only-ends", [] { read(b); }, [] { release(b); }, two_in_handler, nothing},
    {"only-ends-marked",
     [] {
       read(b);
       let_another([] { return read(b); });
     },
     [] { release(b); },
     [] {
       third_ends_b();
       two_in_handler();
     },
     nothing},
    {"older-ends-in-handler",
     [] {
       read(s);
       read(b);
     },
     [] { release(b); },
     [] {
       release(s);
       two_in_handler();
     },
     nothing},
    {"older-ends",
     [] {
       read(s);
       read(b);
       read(b);
     },
     [] { release(s); }, two_in_handler,
     [] {
       release(b);
       release(b);
     }},
    {"again-in-handler", [] { read(b); }, [] { release(b); }, [] { pthread_rwlock_tryrdlock(&b); },
     [] {
       read(d);
       read(e);
       release(d);
       release(e);
       release(b);
     }},
    {"begins",
     [] {
       read(s);
       read(x);
       let_another(release_s);
     },
     [] { read(b); }, two_in_handler,
     [] {
       release(b);
       release(x);
     }},
    {"begins-again",
     [] {
       read(s);
       read(b);
       let_another(release_s);
     },
     [] { read(b); }, two_in_handler,
     [] {
       release(b);
       release(b);
     }},
    {"begins-twice-in-handler", [] { read(s); }, [] { read(b); },
     [] {
       read(d);
       read(d);
       read(e);
       release(d);
       release(d);
       release(e);
     },
     [] {
       release(s);
       release(b);
     }},
};

bool came;
void (*handler)();
bool interrupt(long number, const unsigned char*) {
  if (number != stop_at) return true;
  came = true;
  handler();
  return false;
}

// In a process of its own. Returns false if the call has fewer instructions.
bool came_before(const Scenario& one) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t other;
    if (pthread_create(&other, nullptr, do_what_is_asked, nullptr) != 0) _exit(1);
    one.before();
    handler = one.handler;
    stepping::begin();
    one.call();
    stepping::end();
    if (!came) _exit(2);
    one.after();
    if (has_third) pthread_join(third, nullptr);
    for (const auto& each : kLocks)
      need_free(*each.lock, each.name);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  if (WIFSIGNALED(status)) fail("ended by a signal", "the process");
  if (WEXITSTATUS(status) == 1) _exit(1);
  return WEXITSTATUS(status) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const long first = argc == 4 ? std::atol(argv[2]) : 0, step = argc == 4 ? std::atol(argv[3]) : 0;
  if (std::strcmp(name, "list") == 0) {
    for (const Scenario& one : kScenarios)
      std::puts(one.name);
    return 0;
  }
  if (!stepping::kWorks) return 77;
  stepping::prepare();
  stepping::before = interrupt;
  for (const Scenario& one : kScenarios) {
    if (std::strcmp(name, one.name) != 0) continue;
    scenario_name = one.name;
    if (first < 1 || step < 1) break;
    for (stop_at = first; came_before(one); stop_at += step) {}
    std::printf("instructions %ld\n", stop_at - 1);
    return 0;
  }
  std::fprintf(stderr, "usage: handlers list | SCENARIO FIRST STEP\n");
  return 2;
}
