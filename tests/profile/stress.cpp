// The profile's recording under many threads, which come and go: what it counted must be exact at
// the end. It is built a second time under ThreadSanitizer.
//   profile_stress ROUNDS
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <semaphore.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "interpose/module_functions.h"
#include "platform/libc_functions.h"
#include "platform/looks.h"
#include "profile/file.h"
#include "profile/locks.h"
#include "profile/meetings.h"
#include "profile/start.h"

using namespace lockswap;
using profile::Kind;
using profile::record;

#if defined(__SANITIZE_THREAD__)
// Its deadlock detector knows no read locks that one thread has twice.
extern "C" const char* __tsan_default_options() { return "detect_deadlocks=0"; }
#endif

namespace {

constexpr int kThreads = 6, kGenerations = 4, kLocks = 24;

constexpr MutexOps kMutex{pthread_mutex_init,    pthread_mutex_destroy,   pthread_mutex_lock,
                          pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_clocklock,
                          pthread_mutex_unlock};
constexpr RwOps kRwlock{
    pthread_rwlock_init,        pthread_rwlock_destroy,     pthread_rwlock_rdlock,
    pthread_rwlock_tryrdlock,   pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock,
    pthread_rwlock_wrlock,      pthread_rwlock_trywrlock,   pthread_rwlock_timedwrlock,
    pthread_rwlock_clockwrlock, pthread_rwlock_unlock};
constexpr CondOps kCond{
    pthread_cond_init, pthread_cond_destroy, pthread_cond_wait,     pthread_cond_timedwait,
    nullptr,           pthread_cond_signal,  pthread_cond_broadcast};
constexpr WaitOps kWaits{sem_init,
                         sem_destroy,
                         sem_wait,
                         sem_trywait,
                         sem_timedwait,
                         nullptr,
                         sem_post,
                         pthread_barrier_init,
                         pthread_barrier_destroy,
                         pthread_barrier_wait,
                         pthread_join,
                         sem_getvalue};

MutexOps mutex;
RwOps rwlock;
CondOps cond;
WaitOps waits;

pthread_mutex_t mutexes[kLocks];
pthread_rwlock_t rwlocks[kLocks];
pthread_mutex_t of_items = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
sem_t posted;
pthread_barrier_t meeting;
int items = 0;                // under of_items
std::uint64_t value[kLocks];  // each under its mutex

struct Counts {
  std::uint64_t mutexes = 0, reads = 0, writes = 0, posts = 0, takes = 0, meetings = 0;
};

// A number of the thread's own.
struct Random {
  std::uint32_t state;
  std::uint32_t below(std::uint32_t n) {
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % n;
  }
};

void use_mutex(Random& random, Counts& counts) {
  const std::uint32_t i = random.below(kLocks);
  if (random.below(4) != 0) {
    mutex.lock(&mutexes[i]);
  } else if (mutex.trylock(&mutexes[i]) != 0) {
    return;
  }
  ++counts.mutexes;
  ++value[i];
  // A hold that is long enough to be waited for, and to be split.
  if (random.below(64) == 0) usleep(50);
  mutex.unlock(&mutexes[i]);
}

void use_rwlock(Random& random, Counts& counts) {
  pthread_rwlock_t* const lock = &rwlocks[random.below(kLocks)];
  if (random.below(4) == 0) {
    rwlock.wrlock(lock);
    ++counts.writes;
  } else {
    rwlock.rdlock(lock);
    ++counts.reads;
  }
  if (random.below(64) == 0) usleep(20);
  rwlock.unlock(lock);
}

// Puts an item in and takes one out: so nobody waits for ever.
void use_cond() {
  mutex.lock(&of_items);
  ++items;
  cond.signal(&filled);
  mutex.unlock(&of_items);
  mutex.lock(&of_items);
  while (items == 0)
    cond.wait(&filled, &of_items);
  --items;
  mutex.unlock(&of_items);
}

void work(std::uint32_t seed, int rounds, Counts& counts) {
  Random random{seed * 2654435761u + 1};
  for (int i = 0; i < rounds; ++i) {
    use_mutex(random, counts);
    use_rwlock(random, counts);
    if (random.below(8) == 0) use_cond();
    if (random.below(8) == 0) {
      waits.sem_post(&posted);
      waits.sem_wait(&posted);
      ++counts.posts;
      ++counts.takes;
    }
  }
  waits.barrier_wait(&meeting);
  ++counts.meetings;
}

struct Job {
  std::uint32_t seed;
  int rounds;
  Counts counts;
};
void* run(void* of) {
  Job& job = *static_cast<Job*>(of);
  work(job.seed, job.rounds, job.counts);
  return nullptr;
}

// Sums over all classes of a kind.
Counts counted() {
  Counts sum;
  for (std::uint32_t i = 1; i < record().classes.load(acquire); ++i) {
    const profile::Class& c = record().class_of[i];
    for (std::uint32_t at = c.tallies.load(acquire); at != 0;) {
      const auto& tally = *profile::at_offset<profile::Tally>(at);
      at = tally.next;
      const std::uint64_t n = tally.mode[0].acquisitions;
      if (c.kind == Kind::mutex && c.by_init != 0) sum.mutexes += n;
      if (c.kind == Kind::rwlock) {
        sum.writes += n;
        sum.reads += tally.mode[1].acquisitions;
      }
      if (c.kind == Kind::semaphore) {
        sum.takes += n;
        sum.posts += tally.signals;
      }
      if (c.kind == Kind::barrier) sum.meetings += n;
    }
  }
  return sum;
}

int failures = 0;
void expect(const char* what, std::uint64_t got, std::uint64_t want) {
  if (got == want) return;
  ++failures;
  std::printf("%s: %llu, not %llu\n", what, static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(want));
}

// The C library's own, also where a sanitizer's lie before them.
bool find_libc_functions() {
  void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  bool all = libc != nullptr;
  const auto set = [&]<class F>(F& into, const char* name) {
    into = reinterpret_cast<F>(all ? dlsym(libc, name) : nullptr);
    all = into != nullptr;
  };
  MutexOps& m = libc_functions.mutex;
  set(m.init, "pthread_mutex_init");
  set(m.lock, "pthread_mutex_lock");
  set(m.trylock, "pthread_mutex_trylock");
  set(m.timedlock, "pthread_mutex_timedlock");
  set(m.clocklock, "pthread_mutex_clocklock");
  set(m.unlock, "pthread_mutex_unlock");
  RwOps& r = libc_functions.rwlock;
  set(r.init, "pthread_rwlock_init");
  set(r.rdlock, "pthread_rwlock_rdlock");
  set(r.tryrdlock, "pthread_rwlock_tryrdlock");
  set(r.timedrdlock, "pthread_rwlock_timedrdlock");
  set(r.wrlock, "pthread_rwlock_wrlock");
  set(r.trywrlock, "pthread_rwlock_trywrlock");
  set(r.clockwrlock, "pthread_rwlock_clockwrlock");
  set(r.unlock, "pthread_rwlock_unlock");
  AttributeOps& a = libc_functions.attributes;
  set(a.mutex_init, "pthread_mutexattr_init");
  set(a.mutex_settype, "pthread_mutexattr_settype");
  set(a.mutex_setpshared, "pthread_mutexattr_setpshared");
  set(a.mutex_setrobust, "pthread_mutexattr_setrobust");
  set(a.mutex_setprotocol, "pthread_mutexattr_setprotocol");
  set(a.rwlock_init, "pthread_rwlockattr_init");
  set(a.rwlock_setpshared, "pthread_rwlockattr_setpshared");
  set(a.rwlock_setkind, "pthread_rwlockattr_setkind_np");
  return all;
}

void begin(const char* folder) {
  // If a function is missing, the looks say nothing, and each acquisition has the long way.
  if (find_libc_functions()) Looks::prepare();
  recording::ModuleFunctions modules = module_functions();
  modules.own = nullptr;  // the profile lies in the program here
  if (!profile::begin(folder, modules)) {
    std::printf("nothing can be recorded in %s\n", folder);
    std::exit(1);
  }
  mutex = profile::over_mutex(kMutex);
  rwlock = profile::over_rwlock(kRwlock);
  cond = profile::over_cond(kCond);
  waits = profile::over_waits(kWaits);
  for (int i = 0; i < kLocks; ++i) {
    mutex.init(&mutexes[i], nullptr);
    rwlock.init(&rwlocks[i], nullptr);
  }
  waits.sem_init(&posted, 0, 0);
  waits.barrier_init(&meeting, nullptr, kThreads);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  char folder[] = "/tmp/profile-stress-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  begin(folder);
  Counts want;
  for (int generation = 0; generation < kGenerations; ++generation) {
    std::vector<Job> jobs;
    for (int i = 0; i < kThreads; ++i)
      jobs.push_back({static_cast<std::uint32_t>(generation * kThreads + i), rounds, {}});
    std::vector<pthread_t> threads(kThreads);
    for (int i = 0; i < kThreads; ++i)
      pthread_create(&threads[i], nullptr, run, &jobs[i]);
    for (int i = 0; i < kThreads; ++i) {
      waits.join(threads[i], nullptr);
      const Counts& c = jobs[i].counts;
      want = {want.mutexes + c.mutexes, want.reads + c.reads, want.writes + c.writes,
              want.posts + c.posts,     want.takes + c.takes, want.meetings + c.meetings};
    }
  }
  const Counts got = counted();
  std::uint64_t sum = 0;
  for (const std::uint64_t v : value)
    sum += v;
  expect("values under mutexes", sum, want.mutexes);
  expect("mutexes", got.mutexes, want.mutexes);
  expect("reads", got.reads, want.reads);
  expect("writes", got.writes, want.writes);
  expect("posts", got.posts, want.posts);
  expect("semaphores", got.takes, want.takes);
  expect("barriers", got.meetings, want.meetings);
  expect("threads", record().threads.load(relaxed), 1 + kGenerations * kThreads);
  expect("dropped", record().dropped.holds.load(relaxed) + record().dropped.objects.load(relaxed),
         0);
  profile::end();
  std::string file = std::string(folder) + "/" + std::to_string(getpid()) + ".0.lockprof";
  if (unlink(file.c_str()) != 0 || rmdir(folder) != 0) ++failures;
  return failures == 0 ? 0 : 1;
}
