// Thousands of threads in sections at once: the RLU library has a row for each, where the tables of
// the reader-writer locks have 4,096.
//
//     crowd [THREADS]
//
// All begin a section and read an object; another thread's commit then waits for each of them, and
// they leave in an order of their own. Then every fiftieth commits, and all end. The library is
// compiled in, so that the words that a commit reads to find sections can be counted.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "library/rlu_library.h"
#include "lockswap/rlu.hpp"

namespace {

namespace rlu = lockswap::rlu;

struct Number {
  long value;
};
Number* shared = nullptr;
Number* cells[16];
unsigned threads = 4200;  // more than 4,096, and not many more: others need some, too
constexpr unsigned kCommitsOf = 50;

std::atomic<unsigned> entered{0}, left{0}, wrong{0};
std::atomic<int> stage{0};  // 1: the sections may end; 2: the threads commit; 3: and end

void wait_for(int number) {
  for (int s; (s = stage.load()) < number;)
    stage.wait(s);
}
void go_on(int number) {
  stage = number;
  stage.notify_all();
}
void add(Number* n) {
  rlu::update([&](rlu::section& here) -> std::optional<bool> {
    Number* mine = n;
    if (!here.lock(mine)) return std::nullopt;
    ++mine->value;
    return true;
  });
}

void* live(void* given) {
  const auto number = reinterpret_cast<std::uintptr_t>(given);
  {
    const rlu::section here;
    const long before = here.read(shared)->value;
    entered.fetch_add(1);
    wait_for(1);
    usleep(static_cast<useconds_t>(number * 7919 % 20'000));
    // What it reads is in place: the commit has not written back.
    if (before != 0 || shared->value != 0 || here.read(shared)->value != 0) wrong.fetch_add(1);
    left.fetch_add(1);
  }
  wait_for(2);
  // Commits of thousands of threads at once would wait for their turns most of the time.
  if (number % kCommitsOf == 0) add(cells[number % 16]);
  wait_for(3);
  return nullptr;
}

int failures = 0;
void expect(bool yes, const char* what) {
  if (yes) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}
std::uint64_t contexts() {
  lockswap_rlu_counts c;
  lockswap_rlu_get_counts(&c);
  return c.threads;
}

// How many words a commit reads to find the threads that may be in sections.
std::size_t words_of_commit() {
  return lockswap::rlu::shared<lockswap::Native>().rows.words_with_thread();
}

void all_come_and_go() {
  entered = left = wrong = 0;
  stage = 0;
  shared = rlu::make<Number>();
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  std::vector<pthread_t> all(threads);
  for (unsigned i = 0; i < threads; ++i) {
    if (pthread_create(&all[i], &small, live, reinterpret_cast<void*>(std::uintptr_t{i})) != 0) {
      std::printf("skipped: this machine lets a process have %u threads\n", i);
      std::exit(77);
    }
  }
  while (entered != threads)
    usleep(1000);
  unsigned left_at_end = 0;
  std::thread writer([&] {
    add(shared);
    left_at_end = left;
  });
  usleep(100'000);
  expect(left == 0, "sections that were not told to end have not ended");
  expect(words_of_commit() * 64 >= threads, "a commit reads the bits of all threads");
  go_on(1);
  writer.join();
  expect(left_at_end == threads, "a commit has waited for the sections of all threads");
  expect(wrong == 0, "no section saw the commit that came after it began");
  expect(shared->value == 1, "then it has taken effect");
  go_on(2);
  go_on(3);
  for (const pthread_t t : all)
    pthread_join(t, nullptr);
  rlu::free(shared);
}

// CPU nanoseconds of a commit, for information: the least of many rounds.
double commit_cost(Number* n) {
  constexpr int kRounds = 50;
  constexpr int kCommits = 200;
  const auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
  };
  double least = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const double before = now();
    for (int i = 0; i < kCommits; ++i)
      add(n);
    least = std::min(least, (now() - before) / kCommits);
  }
  return least;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 1) threads = static_cast<unsigned>(std::atol(argv[1]));
  for (Number*& cell : cells)
    cell = rlu::make<Number>();
  Number* const mine = rlu::make<Number>();
  const double before = commit_cost(mine);
  const std::size_t words = words_of_commit();
  expect(words == 1, "a commit reads one word while there are few threads");
  all_come_and_go();
  const double after = commit_cost(mine);
  expect(words_of_commit() == words, "a commit costs what it did before the threads came and went");
  const std::uint64_t first = contexts();
  expect(first >= threads, "each thread had a context");
  all_come_and_go();
  // There are a thread that commits and the first one, besides.
  expect(contexts() <= threads + 2, "threads that come take the contexts of threads that are gone");
  lockswap_rlu_flush_all();
  long sum = 0;
  for (const Number* cell : cells)
    sum += cell->value;
  expect(sum == 2L * ((threads + kCommitsOf - 1) / kCommitsOf), "no commit of theirs is lost");
  std::printf("%u threads, twice; %lu contexts; a commit: %.0f ns, %.0f ns afterwards\n", threads,
              first, before, after);
  return failures == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "rlu_crowd: %s\n", e.what());
  return 2;
}
