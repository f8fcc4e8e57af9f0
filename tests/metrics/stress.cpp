// The counters under many threads, which come and go: nothing is lost but what each thread had yet
// to look at, and no more waits are counted than there were acquisitions. It is built a second time
// under ThreadSanitizer.
//   metrics_stress ROUNDS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "interpose/module_functions.h"
#include "metrics/counters.h"
#include "metrics/locks.h"
#include "metrics/start.h"
#include "platform/ticks.h"

using namespace lockswap;
using metrics::record;

namespace {

constexpr int kThreads = 6, kGenerations = 4, kLocks = 24;
// The longest distance between two looks, for each thread.
constexpr std::uint64_t kUnseen = 2048ull * kThreads * kGenerations;

constexpr MutexOps kMutex{pthread_mutex_init,    pthread_mutex_destroy,   pthread_mutex_lock,
                          pthread_mutex_trylock, pthread_mutex_timedlock, pthread_mutex_clocklock,
                          pthread_mutex_unlock};

MutexOps mutex;
pthread_mutex_t mutexes[kLocks];
std::uint64_t value[kLocks];  // each under its mutex

struct Job {
  std::uint32_t random;
  int rounds;
  std::uint64_t acquisitions, stages;
};

std::uint32_t below(Job& job, std::uint32_t n) {
  job.random = job.random * 1664525u + 1013904223u;
  return (job.random >> 16) % n;
}

void* work(void* of) {
  Job& job = *static_cast<Job*>(of);
  for (int i = 0; i < job.rounds; ++i) {
    pthread_mutex_t* const m = &mutexes[below(job, kLocks)];
    if (below(job, 4) != 0) {
      mutex.lock(m);
    } else if (mutex.trylock(m) != 0) {
      continue;
    }
    ++job.acquisitions;
    ++value[m - mutexes];
    if (below(job, 64) == 0) usleep(50);
    mutex.unlock(m);
    if (below(job, 16) == 0) {  // as one of our locks reports it
      const std::uint64_t end = Ticks::now();
      metrics::count_stage({m, metrics::Kind::mutex, metrics::Mode::exclusive, 1, end, nullptr});
      ++job.stages;
    }
    if (below(job, 256) == 0) metrics::end_lock(m);
  }
  return nullptr;
}

int failures = 0;
void expect(const char* what, std::uint64_t got, std::uint64_t least, std::uint64_t most) {
  std::printf("%s: %llu of %llu to %llu\n", what, static_cast<unsigned long long>(got),
              static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
  failures += got < least || got > most ? 1 : 0;
}

void begin(const char* folder) {
  recording::ModuleFunctions modules = module_functions();
  modules.own = nullptr;  // the counters lie in the program here
  const metrics::Running running{"0", "pthread", "pthread", true};
  if (!metrics::begin(folder, running, modules)) {
    std::printf("nothing can be counted in %s\n", folder);
    std::exit(1);
  }
  mutex = metrics::over_mutex(kMutex, {.has_glibcs = true, .counts_holds = true});
  for (auto& m : mutexes)
    mutex.init(&m, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1000;
  char folder[] = "/tmp/metrics-stress-XXXXXX";
  if (mkdtemp(folder) == nullptr) return 1;
  begin(folder);
  std::uint64_t acquisitions = 0, stages = 0;
  for (int generation = 0; generation < kGenerations; ++generation) {
    std::vector<Job> jobs;
    for (int i = 0; i < kThreads; ++i)
      jobs.push_back({static_cast<std::uint32_t>(generation * kThreads + i), rounds, 0, 0});
    std::vector<pthread_t> threads(kThreads);
    for (int i = 0; i < kThreads; ++i)
      pthread_create(&threads[i], nullptr, work, &jobs[i]);
    for (int i = 0; i < kThreads; ++i) {
      pthread_join(threads[i], nullptr);
      acquisitions += jobs[i].acquisitions;
      stages += jobs[i].stages;
    }
  }
  std::uint64_t sum = 0, counted = 0, waits = 0, holds = 0, failed = 0;
  for (const std::uint64_t v : value)
    sum += v;
  for (const metrics::Series& s : record().series) {
    const metrics::Counts& c = s.counts[0];
    counted += c.acquisitions.load(relaxed);
    failed += c.failed_tries.load(relaxed);
    for (const auto& n : c.wait.n)
      waits += n.load(relaxed);
    for (const auto& n : c.hold.n)
      holds += n.load(relaxed);
  }
  const std::uint64_t calls = static_cast<std::uint64_t>(rounds) * kThreads * kGenerations;
  expect("values under mutexes", sum, acquisitions, acquisitions);
  expect("calls that were counted", counted + failed, calls > kUnseen ? calls - kUnseen : 0, calls);
  expect("waits", waits, stages, stages + calls);
  expect("holds", holds, 1, counted);
  expect("series", record().count.load(relaxed), 2, 1 + kLocks);
  metrics::end();
  const std::string file = std::string(folder) + "/" + std::to_string(getpid()) + ".0.lockmetrics";
  if (unlink(file.c_str()) != 0 || rmdir(folder) != 0) ++failures;
  return failures == 0 ? 0 : 1;
}
