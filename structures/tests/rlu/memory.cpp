// What the RLU library keeps when threads come and go, and commit: no more after many commits than
// after the first of them.
//
//     memory [COMMITS [THREADS [DEFERRAL]]]
//
// kAtOnce of the THREADS threads exist at a time. They change shared objects, replace and free
// them, abort, give callbacks, copy objects that are larger than a log usually is; one in five
// exits in a section. A tenth as many threads and commits come first, and then all of them.
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <malloc.h>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "lockswap/rlu.h"

namespace {

using Random = std::minstd_rand;

constexpr int kAtOnce = 8;
constexpr int kCells = 64;
constexpr std::size_t kLarge = 100'000;

std::atomic<long> objects{0};  // that are not freed
void* make(std::size_t size) {
  void* const memory = std::calloc(1, sizeof(lockswap_rlu_header) + size);
  if (memory == nullptr) std::abort();
  ++objects;
  return lockswap_rlu_made(memory, size, [](void* m) {
    --objects;
    std::free(m);
  });
}
struct Cell {
  long* number;
};
Cell* cells[kCells];
char* large;

// f() is false if a lock failed.
template <class F>
void commit(const F& f) {
  for (;;) {
    lockswap_rlu_reader_lock();
    if (f()) break;
    lockswap_rlu_abort();
  }
  lockswap_rlu_reader_unlock();
}
template <class T>
T* locked(T* p) {
  return static_cast<T*>(lockswap_rlu_try_lock(p));
}

bool add(const Cell* cell) {
  auto* c = static_cast<const Cell*>(lockswap_rlu_dereference(cell));
  long* const n = locked(c->number);
  if (n != nullptr) ++*n;
  return n != nullptr;
}
void replace(Cell* cell) {
  auto* const mine = static_cast<long*>(make(sizeof(long)));
  commit([&] {
    Cell* const c = locked(cell);
    if (c == nullptr) return false;
    auto* const old = static_cast<long*>(lockswap_rlu_try_lock_const(c->number));
    if (old == nullptr) return false;
    *mine = *old + 1;
    c->number = mine;
    return lockswap_rlu_free(old) == 0;
  });
}
void change_large() {
  commit([] {
    char* const mine = locked(large);
    if (mine != nullptr) ++mine[kLarge - 1];
    return mine != nullptr;
  });
}
void give_callback() {
  auto* const c = static_cast<lockswap_rlu_callback*>(std::malloc(sizeof(lockswap_rlu_callback)));
  if (c == nullptr) std::abort();
  ++objects;
  lockswap_rlu_call(c, [](lockswap_rlu_callback* self) {
    --objects;
    std::free(self);
  });
}

void live(unsigned seed, long commits) {
  Random random(seed);
  for (long i = 0; i < commits; ++i) {
    Cell* const cell = cells[random() % kCells];
    switch (random() % 64) {
      case 0:
        give_callback();
        [[fallthrough]];
      case 1:
        lockswap_rlu_reader_lock();
        add(cell);
        lockswap_rlu_abort();
        [[fallthrough]];
      default:
        commit([&] { return add(cell); });
        break;
      case 2:
      case 3:
        replace(cell);
        break;
      case 4:
        if (i % 64 == 0) {
          change_large();
        } else {
          --i;
        }
    }
  }
  if (seed % 5 == 0) {  // and exits
    lockswap_rlu_reader_lock();
    add(cells[0]);
  }
}

void crowd(unsigned seed, int threads, long commits) {
  std::atomic<int> next{0};
  std::vector<std::thread> runners;
  for (int i = 0; i < kAtOnce; ++i) {
    runners.emplace_back([&] {
      for (int n; (n = next++) < threads;)
        std::thread(live, seed + static_cast<unsigned>(n), commits / threads).join();
    });
  }
  for (auto& runner : runners)
    runner.join();
  lockswap_rlu_flush_all();
  lockswap_rlu_barrier();
}

struct Glimpse {
  long mapped = 0, resident = 0;  // KiB
  long objects = 0;
  lockswap_rlu_counts counts{};
};
long kibibytes(const char* file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    long n = 0;
    if (word == name && lines >> n) return n;
  }
  std::fprintf(stderr, "rlu_memory: no %s in %s\n", name.c_str(), file);
  std::abort();
}
Glimpse glimpse() {
  malloc_trim(0);
  Glimpse g;
  g.mapped = kibibytes("/proc/self/status", "VmSize:");
  // Not statm, which is off by some pages for each processor; nor the pages of files.
  g.resident = kibibytes("/proc/self/smaps_rollup", "Anonymous:") +
               kibibytes("/proc/self/smaps_rollup", "Swap:");
  g.objects = objects;
  lockswap_rlu_get_counts(&g.counts);
  return g;
}
void print(const char* when, const Glimpse& g) {
  std::printf("%s %" PRIu64 " commits: %ld KiB mapped, %ld KiB resident, %ld objects, %" PRIu64
              " contexts, %" PRIu64 " bytes of logs\n",
              when, g.counts.commits, g.mapped, g.resident, g.objects, g.counts.threads,
              g.counts.log_bytes);
}

int failures = 0;
void expect(bool yes, const char* what) {
  if (yes) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

}  // namespace

int main(int argc, char** argv) {
  const long commits = argc > 1 ? std::atol(argv[1]) : 100'000;
  const int threads = argc > 2 ? std::atoi(argv[2]) : 1000;
  const unsigned deferral = argc > 3 ? static_cast<unsigned>(std::atol(argv[3])) : 1;
  mallopt(M_ARENA_MAX, 1);  // else the program's own heap grows with what threads happen to do
  if (lockswap_rlu_set_deferral(deferral) != 0) return 2;
  for (Cell*& cell : cells) {
    cell = static_cast<Cell*>(make(sizeof(Cell)));
    cell->number = static_cast<long*>(make(sizeof(long)));
  }
  large = static_cast<char*>(make(kLarge));

  crowd(1, threads / 10, commits / 10);
  const Glimpse before = glimpse();
  print("after", before);
  crowd(10'000, threads, commits);
  const Glimpse after = glimpse();
  print("after", after);

  expect(static_cast<long>(after.counts.commits - before.counts.commits) >= commits,
         "so many commits were made");
  expect(after.objects == 2 * kCells + 1, "each object and each callback that is gone was freed");
  expect(after.counts.threads <= kAtOnce + 1, "a context for each thread that there is at once");
  // Each has two logs, each of two pieces at most.
  expect(after.counts.log_bytes <= after.counts.threads * 4 * (1u << 14), "no log stays grown");
  expect(after.mapped <= before.mapped + 512, "no more is mapped");
  expect(after.resident <= before.resident + 512, "no more is resident");
  return failures == 0 ? 0 : 1;
}
