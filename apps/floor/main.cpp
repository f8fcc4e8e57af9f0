// floor: what a pair of calls through a preload costs, taken apart. One thread calls two functions
// in turn, in a loop, and nobody else wants the lock.
//
// --pair read, write and mutex acquire and release the program's own lock: glibc's, or what a
// preload has put in its place. The other pairs are steps (steps.h), from two empty functions to
// all that a reader of ours must do. They show the floor: what any preload costs, and what no
// algorithm can do without.
//
// It prints a line `ns N` for each round: the thread's CPU nanoseconds for a pair, with the loop.
// --instructions counts the instructions of a pair instead, and prints `instructions N`. For that
// the kernel must let a process trace its child; otherwise the exit status is 77. --list prints the
// steps. table.py runs all pairs, interleaved, and prints a table.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <pthread.h>
#include <string>
#include <vector>

#include "common/one_thread.h"
#include "common/options.h"
#include "instructions.h"
#include "steps.h"

namespace {

using namespace bench;
namespace steps = floor_steps;

constexpr int kNotHere = 77;  // what test programs exit with if they can't run

pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
steps::Lock lock;

constexpr Loop* kRead =
    pairs_of<pthread_rwlock_t, pthread_rwlock_rdlock, pthread_rwlock_unlock, &rwlock>;
constexpr Loop* kWrite =
    pairs_of<pthread_rwlock_t, pthread_rwlock_wrlock, pthread_rwlock_unlock, &rwlock>;
constexpr Loop* kMutex =
    pairs_of<pthread_mutex_t, pthread_mutex_lock, pthread_mutex_unlock, &mutex>;
template <steps::Call& kAcquire, steps::Call& kRelease>
constexpr Loop* kStep = pairs_of<steps::Lock, kAcquire, kRelease, &lock>;

struct Pair {
  const char* name;
  Loop* loop;
  const char* what;  // null: the program's own lock
};
constexpr Pair kPairs[] = {
    {"read", kRead, nullptr},
    {"write", kWrite, nullptr},
    {"mutex", kMutex, nullptr},
    {"empty", kStep<steps::empty_acquire, steps::empty_release>, "empty functions"},
    {"table", kStep<steps::table_acquire, steps::table_release>,
     "the same, behind an indirect jump through a table"},
    {"bound", kStep<steps::bound_acquire, steps::bound_release>,
     "the same, bound at load (`GNU_IFUNC`)"},
    {"thread-local", kStep<steps::thread_local_acquire, steps::thread_local_release>,
     "a look at an initial-exec thread-local"},
    {"record", kStep<steps::record_acquire, steps::record_release>,
     "the record of a hold, written, checked and cleared"},
    {"one-update", kStep<steps::one_update_acquire, steps::one_update_release>,
     "one atomic update"},
    {"two-updates", kStep<steps::two_updates_acquire, steps::two_updates_release>,
     "two atomic updates"},
    {"four-updates", kStep<steps::four_updates_acquire, steps::four_updates_release>,
     "four atomic updates"},
    {"reader", kStep<steps::reader_acquire, steps::reader_release>,
     "the record and two updates, called directly"},
    {"table-reader", kStep<steps::table_reader_acquire, steps::table_reader_release>,
     "the record and two updates, through the table"},
};

void print_steps() {
  for (const Pair& pair : kPairs) {
    if (pair.what != nullptr) std::printf("%s\t%s\n", pair.name, pair.what);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  for (const Pair& pair : kPairs)
    names.emplace_back(pair.name);
  std::string name = names.front();
  int pairs = 1'000'000, rounds = 5, threads = 1;
  bool counts = false, lists = false;
  Options options("floor", "What a pair of calls through a preload costs, step by step.");
  options.choice("--pair", name, names, "the functions that are called");
  options.number("--pairs", pairs, 1, 1'000'000'000, "pairs a round");
  options.number("--rounds", rounds, 1, 1'000'000, "rounds");
  options.number("--threads", threads, 1, 2, "2: beside a thread that sleeps");
  options.flag("--instructions", counts, "count the instructions of a pair instead");
  options.flag("--list", lists, "print the names of the steps, and what they do, and end");
  options.parse(argc, argv);
  if (lists) {
    print_steps();
    return 0;
  }

  Loop& loop = *std::ranges::find(kPairs, name, &Pair::name)->loop;
  std::optional<Companion> companion;
  const auto prepare = [&] {
    if (threads == 2) companion.emplace();
    warm_up(loop, pairs);
  };
  if (counts) {
    const std::optional<double> found = instructions_of_pair(loop, prepare);
    if (!found) {
      std::fprintf(stderr, "floor: can't count instructions: ptrace: %s\n", std::strerror(errno));
      return kNotHere;
    }
    std::printf("instructions %.1f\n", *found);
    return 0;
  }
  prepare();
  for (int i = 0; i < rounds; ++i)
    std::printf("ns %.3f\n", measured_round(loop, pairs));
  return 0;
}
