// Threads that acquire and release one reader-writer lock back to back.
//
// usage: pairs [--threads N] [--writes SHARE] [--seconds S] [--empty]
//   --threads N      (default 2); pinned to the processors in turn
//   --writes SHARE   share of write acquisitions, 0 to 1 (default 0); fixed pattern, no randomness
//   --seconds S      (default 1)
//   --empty          call two empty functions instead: the floor of the loop
//
// On a shared machine a virtual processor is taken away now and then, and a "two-thread" average
// over such a time is a one-thread figure. So each thread notes the time after every batch, and
// `live_ns` counts only stretches in which all threads kept making progress:
//   live_ns   wall nanoseconds a thread needed for one pair, in live stretches
//   kept      share of the time that was live
//   pairs_s   pairs a second of all threads, over the whole time
//   pairs_cpu pairs a CPU-second of all threads, over the whole time
//   fairness  fewest pairs of a thread / most pairs of a thread
// Plain pthread API: run it with and without the preload, interleaved.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr long kBatch = 128;
// A thread that needs longer than this for a batch is not running, or waits for one that is not.
constexpr double kGapFactor = 20;

struct Options {
  int threads = 2;
  double writes = 0;
  double seconds = 1;
  bool empty = false;
};

struct alignas(128) Worker {
  std::vector<double> stamps;  // after each batch, ns
  double cpu_ns = 0;
};

pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
std::atomic<bool> stop{false};
std::atomic<int> ready{0};

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

__attribute__((noinline)) int empty_function(pthread_rwlock_t* l) {
  asm volatile("" : : "r"(l) : "memory");
  return 0;
}

template <bool kEmpty>
void batch(long every, long& until_write) {
  for (long i = 0; i < kBatch; ++i) {
    if (kEmpty) {
      empty_function(&lock);
      empty_function(&lock);
    } else if (every != 0 && --until_write == 0) {
      until_write = every;
      pthread_rwlock_wrlock(&lock);
      pthread_rwlock_unlock(&lock);
    } else {
      pthread_rwlock_rdlock(&lock);
      pthread_rwlock_unlock(&lock);
    }
  }
}

void work(const Options& o, int number, Worker& me) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(number) % std::thread::hardware_concurrency(), &one);
  sched_setaffinity(0, sizeof one, &one);
  const long every = o.writes > 0 ? std::max(1L, std::lround(1 / o.writes)) : 0;
  long until_write = every == 0 ? 0 : 1 + (every * (number + 1)) / (o.threads + 1);
  me.stamps.reserve(static_cast<std::size_t>(o.seconds * 3e6));
  ready.fetch_add(1);
  while (ready.load() != o.threads)
    sched_yield();
  const double cpu = now(CLOCK_THREAD_CPUTIME_ID);
  while (!stop.load(std::memory_order_relaxed)) {
    if (o.empty) {
      batch<true>(every, until_write);
    } else {
      batch<false>(every, until_write);
    }
    me.stamps.push_back(now(CLOCK_MONOTONIC));
  }
  me.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

struct Live {
  double ns_per_pair;
  double kept;
};

// Cuts the common time at every gap of any thread; what remains is live.
Live live(const std::vector<Worker>& workers) {
  double begin = 0;
  double end = 1e300;
  std::vector<double> steps;
  for (const Worker& w : workers) {
    if (w.stamps.size() < 2) return {0, 0};
    begin = std::max(begin, w.stamps.front());
    end = std::min(end, w.stamps.back());
    for (std::size_t i = 1; i < w.stamps.size(); ++i)
      steps.push_back(w.stamps[i] - w.stamps[i - 1]);
  }
  std::nth_element(steps.begin(), steps.begin() + static_cast<long>(steps.size() / 2), steps.end());
  const double longest = kGapFactor * steps[steps.size() / 2];

  struct Span {
    double from, to;
  };
  std::vector<Span> gaps;
  for (const Worker& w : workers) {
    for (std::size_t i = 1; i < w.stamps.size(); ++i) {
      if (w.stamps[i] - w.stamps[i - 1] > longest) gaps.push_back({w.stamps[i - 1], w.stamps[i]});
    }
  }
  std::sort(gaps.begin(), gaps.end(), [](Span a, Span b) { return a.from < b.from; });
  std::vector<Span> alive;
  double at = begin;
  for (const Span& g : gaps) {
    if (g.from > at) alive.push_back({at, std::min(g.from, end)});
    at = std::max(at, g.to);
  }
  if (at < end) alive.push_back({at, end});

  double time = 0;
  double pairs = 0;
  for (const Span& s : alive)
    time += std::max(0.0, s.to - s.from);
  for (const Worker& w : workers) {
    std::size_t i = 0;
    for (const Span& s : alive) {
      i = static_cast<std::size_t>(
          std::upper_bound(w.stamps.begin() + static_cast<long>(i), w.stamps.end(), s.from) -
          w.stamps.begin());
      for (; i < w.stamps.size() && w.stamps[i] <= s.to; ++i)
        pairs += kBatch;
    }
  }
  if (pairs == 0) return {0, 0};
  return {time * static_cast<double>(workers.size()) / pairs, time / (end - begin)};
}

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: pairs [--threads N] [--writes SHARE] [--seconds S] [--empty]\n"
               "  N from 1 to 1024, SHARE from 0 to 1, S up to 600\n");
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  const option names[] = {{"threads", required_argument, nullptr, 't'},
                          {"writes", required_argument, nullptr, 'w'},
                          {"seconds", required_argument, nullptr, 's'},
                          {"empty", no_argument, nullptr, 'e'},
                          {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    char* rest = nullptr;
    const double v = c == 'e' || c == '?' ? 0 : std::strtod(optarg, &rest);
    if (c == '?' || (rest != nullptr && *rest != 0)) usage();
    if (c == 't') o.threads = static_cast<int>(v);
    if (c == 'w') o.writes = v;
    if (c == 's') o.seconds = v;
    if (c == 'e') o.empty = true;
  }
  if (optind != argc || o.threads < 1 || o.threads > 1024 || o.writes < 0 || o.writes > 1 ||
      o.seconds <= 0 || o.seconds > 600) {
    usage();
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  const Options o = parse(argc, argv);
  std::vector<Worker> workers(static_cast<std::size_t>(o.threads));
  std::vector<std::thread> threads;
  const double start = now(CLOCK_MONOTONIC);
  for (int i = 0; i < o.threads; ++i) {
    threads.emplace_back([&, i] { work(o, i, workers[static_cast<std::size_t>(i)]); });
  }
  usleep(static_cast<useconds_t>(o.seconds * 1e6));
  stop.store(true);
  for (auto& t : threads)
    t.join();
  const double wall = now(CLOCK_MONOTONIC) - start;

  double pairs = 0;
  double cpu = 0;
  double fewest = 1e300;
  double most = 0;
  for (const Worker& w : workers) {
    const double mine = static_cast<double>(w.stamps.size()) * kBatch;
    pairs += mine;
    cpu += w.cpu_ns;
    fewest = std::min(fewest, mine);
    most = std::max(most, mine);
  }
  const Live l = live(workers);
  std::printf("live_ns %.3f kept %.3f pairs_s %.0f pairs_cpu %.0f fairness %.3f\n", l.ns_per_pair,
              l.kept, pairs / wall * 1e9, pairs / cpu * 1e9, most == 0 ? 0 : fewest / most);
  return 0;
}
