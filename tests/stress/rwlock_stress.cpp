// Threads use several locks at random for a while and check invariants in the critical sections.
//
//   rwlock_stress [--seconds S] [--threads N] [--locks N] [--seed N] [--mix NAME] [--no-foreign]
//
// Every operation is drawn at random from a mix: reads and writes by plain, try and timed forms,
// recursive reads, several locks at once, read holds that another thread ends, locks destroyed and
// made anew. It ends by checking that every lock is free and that no write got lost. The seed is
// printed and accepted. Exit status: 0 good, 1 a violation, a wrong return value or no progress; 2
// bad input.
//
// An ordinary pthread program: it knows nothing of lockswap.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <errno.h>
#include <filesystem>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#include "../asleep.h"

namespace {

// ---- what is drawn, in parts of 100

struct Mix {
  const char* name;
  unsigned write;     // of the acquisitions, those for writing
  unsigned try_form;  // of the acquisitions, by try forms
  unsigned timed;  // of the acquisitions, by timed forms with deadlines so short that many give up
  unsigned recurse;  // of the steps with a read hold, those that read the same lock again
  unsigned give;     // of the releases of a read hold, those left to another thread
  unsigned renew;    // of the writes, those that end with the lock destroyed and made anew
  unsigned several;  // of the operations, those that take further locks while they hold one
};

constexpr Mix kMixes[] = {
    {"even", 20, 15, 15, 20, 10, 2, 20},   {"readers", 1, 5, 5, 20, 2, 0, 10},
    {"writers", 70, 10, 20, 10, 5, 2, 20}, {"impatient", 35, 20, 70, 10, 5, 0, 10},
    {"foreign", 20, 10, 5, 40, 60, 0, 20}, {"plain", 15, 0, 0, 0, 0, 0, 0},
};

struct Options {
  double seconds = 2;
  int threads = 16;
  int locks = 4;
  std::uint32_t seed = 0;
  bool foreign = true;
  std::string mix = "all";
};

// ---- the locks and what they guard

struct alignas(8) Cell {
  pthread_rwlock_t lock;
  std::atomic<std::uint64_t> first{0}, second{0};  // equal unless a writer is inside
  std::atomic<int> readers{0}, writers{0};
  std::atomic<std::uint64_t> writes{0};
  // Each operation first counts itself in, since a cell whose lock is to be made anew must have no
  // other user.
  std::atomic<int> users{0};
  std::atomic<bool> closed{false};
};

std::unique_ptr<Cell[]> cells;
Options options;
std::atomic<bool> over{false};
std::atomic<int> failures{0};

void fail(const char* what, const Cell* cell, int value = 0) {
  if (failures.fetch_add(1) < 10)
    fprintf(stderr, "rwlock_stress: %s (lock %td, value %d)\n", what,
            cell != nullptr ? cell - cells.get() : -1, value);
}

void expect(int expected, int got, const char* what, const Cell* cell) {
  if (got != expected) fail(what, cell, got);
}

// Called with a read hold that this thread will end itself, so the hold surely lasts through the
// check.
void check_inside_read(Cell& cell) {
  cell.readers.fetch_add(1);
  const std::uint64_t value = cell.first.load(std::memory_order_relaxed);
  if (cell.writers.load() != 0) fail("a writer is inside beside a reader", &cell);
  if (value != cell.second.load(std::memory_order_relaxed))
    fail("a reader sees half a write", &cell);
  cell.readers.fetch_sub(1);
}

void check_inside_write(Cell& cell) {
  if (cell.writers.fetch_add(1) != 0) fail("two writers are inside", &cell);
  if (cell.readers.load() != 0) fail("a reader is inside beside a writer", &cell);
  const std::uint64_t value = cell.first.load(std::memory_order_relaxed);
  cell.first.store(value + 1, std::memory_order_relaxed);
  for (unsigned n = value % 64; n > 0; --n)
    asm volatile("");
  if (value % 97 == 0) sched_yield();  // inside a critical section: the others pile up
  if (cell.second.load(std::memory_order_relaxed) != value)
    fail("a writer sees half a write", &cell);
  cell.second.store(value + 1, std::memory_order_relaxed);
  if (cell.readers.load() != 0) fail("a reader came in beside a writer", &cell);
  cell.writers.fetch_sub(1);
  cell.writes.fetch_add(1);
}

// ---- read holds that another thread ends: a queue, and a thread that never waits for a lock

struct Undertaker {
  std::mutex mutex;
  std::vector<Cell*> owed;
  std::atomic<bool> last_call{false};

  void give(Cell* cell) {
    std::lock_guard guard(mutex);
    owed.push_back(cell);
  }
  void run(std::uint32_t seed) {
    std::mt19937 random(seed);
    for (;;) {
      Cell* cell = nullptr;
      const bool leaving = last_call;
      {
        std::lock_guard guard(mutex);
        if (!owed.empty()) {
          std::swap(owed[random() % owed.size()], owed.back());
          cell = owed.back();
          owed.pop_back();
        }
      }
      if (cell == nullptr) {
        if (leaving) return;
        usleep(50);
        continue;
      }
      // Sometimes it is a reader itself at that moment.
      const bool reads_too = random() % 3 == 0 && pthread_rwlock_tryrdlock(&cell->lock) == 0;
      expect(0, pthread_rwlock_unlock(&cell->lock), "unlock for another thread", cell);
      if (reads_too) {
        check_inside_read(*cell);
        expect(0, pthread_rwlock_unlock(&cell->lock), "unlock", cell);
      }
      cell->users.fetch_sub(1);
    }
  }
};
Undertaker undertaker;

// ---- threads

struct alignas(64) Progress {
  std::atomic<std::uint64_t> operations{0};
  std::atomic<const char*> doing{"nothing"};
  std::atomic<int> lock{-1};
};
std::unique_ptr<Progress[]> progress;

class Worker {
 public:
  explicit Worker(int index)
      : random_(options.seed + 7919u * static_cast<unsigned>(index)),
        progress_(progress[static_cast<size_t>(index)]) {}

  void run() {
    while (!over) {
      mix_ = choose_mix();
      for (int n = 0; n < 64 && !over; ++n) {
        operation(0);
        progress_.operations.fetch_add(1, std::memory_order_relaxed);
        progress_.doing.store("between two operations", std::memory_order_relaxed);
      }
    }
  }

 private:
  bool chance(unsigned percent) { return random_() % 100 < percent; }

  const Mix* choose_mix() {
    for (const Mix& mix : kMixes)
      if (options.mix == mix.name) return &mix;
    return &kMixes[random_() % std::size(kMixes)];
  }

  // Takes a lock at or above `lowest`, perhaps more within (in ascending order, so waiting cannot
  // form a circle).
  void operation(int lowest) {
    const int number =
        lowest + static_cast<int>(random_() % static_cast<unsigned>(options.locks - lowest));
    Cell& cell = cells[static_cast<size_t>(number)];
    cell.users.fetch_add(1);
    if (cell.closed) {
      cell.users.fetch_sub(1);
      sched_yield();
      return;
    }
    progress_.lock.store(number, std::memory_order_relaxed);
    const bool gone = chance(mix_->write) ? write(cell, number) : read(cell, number);
    if (!gone) cell.users.fetch_sub(1);
  }

  // Returns false if the operation's use of the cell is over. Returns true if the undertaker will
  // end it.
  bool read(Cell& cell, int number) {
    if (!acquire(cell, false)) return false;
    int depth = 1;
    do {
      check_inside_read(cell);
      if (chance(mix_->several) && number + 1 < options.locks) operation(number + 1);
      while (chance(mix_->recurse) && depth < 50) {
        recurse(cell);
        ++depth;
        check_inside_read(cell);
      }
      if (depth > 1) {
        release_read(cell);
        --depth;
      }
    } while (depth > 1);
    // The last hold ends here, or the undertaker ends it together with the use of the cell.
    if (options.foreign && chance(mix_->give)) {
      undertaker.give(&cell);
      return true;
    }
    progress_.doing.store("unlock", std::memory_order_relaxed);
    expect(0, pthread_rwlock_unlock(&cell.lock), "unlock of a read", &cell);
    return false;
  }

  void release_read(Cell& cell) {
    if (options.foreign && chance(mix_->give)) {
      cell.users.fetch_add(1);
      undertaker.give(&cell);
      return;
    }
    progress_.doing.store("unlock", std::memory_order_relaxed);
    expect(0, pthread_rwlock_unlock(&cell.lock), "unlock of a read", &cell);
  }

  void recurse(Cell& cell) {
    progress_.doing.store("recursive read", std::memory_order_relaxed);
    timespec deadline{};  // 1970: a thread that holds the lock need not wait
    switch (random_() % 4) {
      case 0:
        expect(0, pthread_rwlock_tryrdlock(&cell.lock), "recursive tryrdlock", &cell);
        break;
      case 1:
        expect(0, pthread_rwlock_timedrdlock(&cell.lock, &deadline), "recursive timedrdlock",
               &cell);
        break;
      default:
        expect(0, pthread_rwlock_rdlock(&cell.lock), "recursive rdlock", &cell);
    }
  }

  bool write(Cell& cell, int number) {
    if (!acquire(cell, true)) return false;
    check_inside_write(cell);
    if (chance(20)) {
      expect(EDEADLK, pthread_rwlock_rdlock(&cell.lock), "rdlock by the writer", &cell);
      expect(EDEADLK, pthread_rwlock_wrlock(&cell.lock), "wrlock by the writer", &cell);
      expect(EBUSY, pthread_rwlock_tryrdlock(&cell.lock), "tryrdlock by the writer", &cell);
    }
    if (chance(mix_->several) && number + 1 < options.locks) operation(number + 1);
    progress_.doing.store("unlock", std::memory_order_relaxed);
    expect(0, pthread_rwlock_unlock(&cell.lock), "unlock of a write", &cell);
    if (chance(mix_->renew)) renew(cell);
    return false;
  }

  bool acquire(Cell& cell, bool for_write) {
    const unsigned draw = random_() % 100;
    pthread_rwlock_t* lock = &cell.lock;
    int rc;
    if (draw < mix_->try_form) {
      progress_.doing.store(for_write ? "trywrlock" : "tryrdlock", std::memory_order_relaxed);
      rc = for_write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
      if (rc == EBUSY) return false;
    } else if (draw < mix_->try_form + mix_->timed) {
      progress_.doing.store(for_write ? "timed write" : "timed read", std::memory_order_relaxed);
      const clockid_t clock = random_() % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
      timespec deadline;
      clock_gettime(clock, &deadline);
      deadline.tv_nsec += static_cast<long>(random_() % (random_() % 8 == 0 ? 5'000'000 : 100'000));
      if (deadline.tv_nsec >= 1'000'000'000) {
        deadline.tv_nsec -= 1'000'000'000;
        ++deadline.tv_sec;
      }
      if (clock == CLOCK_REALTIME && random_() % 2)
        rc = for_write ? pthread_rwlock_timedwrlock(lock, &deadline)
                       : pthread_rwlock_timedrdlock(lock, &deadline);
      else
        rc = for_write ? pthread_rwlock_clockwrlock(lock, clock, &deadline)
                       : pthread_rwlock_clockrdlock(lock, clock, &deadline);
      if (rc == ETIMEDOUT) return false;
    } else {
      progress_.doing.store(for_write ? "wrlock" : "rdlock", std::memory_order_relaxed);
      rc = for_write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
    }
    if (rc == 0) return true;
    fail(for_write ? "a write acquisition" : "a read acquisition", &cell, rc);
    return false;
  }

  // If this thread is soon alone with the cell: destroy, dirt, init (or zeroes).
  void renew(Cell& cell) {
    if (cell.closed.exchange(true)) return;
    for (int patience = 0; cell.users != 1 && patience < 200; ++patience)
      sched_yield();
    if (cell.users == 1) {
      expect(0, pthread_rwlock_destroy(&cell.lock), "destroy", &cell);
      memset(static_cast<void*>(&cell.lock), 0xa5, sizeof cell.lock);
      if (chance(50))
        memset(static_cast<void*>(&cell.lock), 0, sizeof cell.lock);
      else
        expect(0, pthread_rwlock_init(&cell.lock, nullptr), "init", &cell);
    }
    cell.closed = false;
  }

  std::mt19937 random_;
  Progress& progress_;
  const Mix* mix_ = &kMixes[0];
};

// ---- the whole

double seconds_now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::uint64_t total_operations() {
  std::uint64_t sum = 0;
  for (int i = 0; i < options.threads; ++i)
    sum += progress[static_cast<size_t>(i)].operations;
  return sum;
}

// Whether no other thread of the process runs, or waits for a processor.
bool others_sleep() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int tid = std::stoi(entry.path().filename());
    if (tid != gettid() && !is_asleep(tid)) return false;
  }
  return true;
}

// Waits for `done`, as long as anything moves. It is a hang if there was no operation of any thread
// while all were asleep for so long, or used so much CPU time.
template <typename Done>
void wait_while_it_moves(Done done) {
  constexpr int kAsleep = 40, kUsed = 100;  // seconds
  constexpr int kPolls = 50;                // in a second
  std::uint64_t operations = total_operations();
  clock_t since = clock();
  int asleep = 0;
  for (int poll = 1; !done(); ++poll) {
    usleep(1'000'000 / kPolls);
    if (poll % kPolls != 0) continue;
    const std::uint64_t now = total_operations();
    if (now != operations) {
      operations = now;
      since = clock();
      asleep = 0;
      continue;
    }
    if (others_sleep()) ++asleep;
    const auto used = static_cast<int>((clock() - since) / CLOCKS_PER_SEC);
    if (asleep >= kAsleep || used >= kUsed) {
      fprintf(stderr, "rwlock_stress: no operation: asleep for %d s, %d s of CPU time; seed %u\n",
              asleep, used, options.seed);
      for (int i = 0; i < options.threads; ++i)
        fprintf(stderr, "  thread %d: %s, lock %d\n", i,
                progress[static_cast<size_t>(i)].doing.load(),
                progress[static_cast<size_t>(i)].lock.load());
      _exit(1);
    }
  }
}

[[noreturn]] void usage(const std::string& what) {
  fprintf(stderr,
          "rwlock_stress: %s; known: --seconds S --threads N --locks N --seed N --no-foreign --mix "
          "all|even|readers|writers|impatient|foreign|plain\n",
          what.c_str());
  exit(2);
}

void parse(int argc, char** argv) {
  options.seed = static_cast<std::uint32_t>(std::random_device{}());
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--no-foreign") {
      options.foreign = false;
      continue;
    }
    if (flag != "--seconds" && flag != "--threads" && flag != "--locks" && flag != "--seed" &&
        flag != "--mix")
      usage("unknown argument " + flag);
    if (++i == argc) usage("a value is missing after " + flag);
    const char* value = argv[i];
    char* end = nullptr;
    if (flag == "--mix") {
      options.mix = value;
      const bool known =
          options.mix == "all" || std::any_of(std::begin(kMixes), std::end(kMixes),
                                              [](const Mix& m) { return options.mix == m.name; });
      if (!known) usage("unknown mix " + options.mix);
      continue;
    }
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || number < 0 || (flag != "--seed" && number == 0))
      usage(flag + " wants a positive number, not '" + value + "'");
    if (flag == "--seconds") options.seconds = number;
    if (flag == "--threads") options.threads = static_cast<int>(number);
    if (flag == "--locks") options.locks = static_cast<int>(number);
    if (flag == "--seed") options.seed = static_cast<std::uint32_t>(number);
  }
  if (options.threads < 1 || options.locks < 1) usage("--threads and --locks want at least 1");
}

}  // namespace

int main(int argc, char** argv) {
  parse(argc, argv);
  printf("rwlock_stress: %g s, %d threads, %d locks, mix %s, --seed %u\n", options.seconds,
         options.threads, options.locks, options.mix.c_str(), options.seed);
  fflush(stdout);
  cells = std::make_unique<Cell[]>(static_cast<size_t>(options.locks));
  for (int i = 0; i < options.locks; ++i) {
    memset(static_cast<void*>(&cells[static_cast<size_t>(i)].lock), 0, sizeof(pthread_rwlock_t));
    if (i % 2 == 0)
      expect(0, pthread_rwlock_init(&cells[static_cast<size_t>(i)].lock, nullptr), "init",
             &cells[static_cast<size_t>(i)]);
  }
  progress = std::make_unique<Progress[]>(static_cast<size_t>(options.threads));
  std::thread burial([] { undertaker.run(options.seed ^ 0x5a5a5a5a); });
  std::vector<std::thread> crew;
  std::atomic<int> running{options.threads};
  for (int i = 0; i < options.threads; ++i)
    crew.emplace_back([i, &running] {
      Worker(i).run();
      --running;
    });
  const double end = seconds_now() + options.seconds;
  wait_while_it_moves([&] { return seconds_now() >= end || failures > 0; });
  over = true;
  wait_while_it_moves([&] { return running == 0; });
  for (std::thread& t : crew)
    t.join();
  undertaker.last_call = true;
  burial.join();

  std::uint64_t writes = 0;
  for (int i = 0; i < options.locks; ++i) {
    Cell& cell = cells[static_cast<size_t>(i)];
    const int rc = pthread_rwlock_trywrlock(&cell.lock);
    expect(0, rc, "the lock is not free at the end: trywrlock", &cell);
    if (rc == 0) expect(0, pthread_rwlock_unlock(&cell.lock), "unlock", &cell);
    if (cell.first != cell.writes || cell.second != cell.writes) fail("writes got lost", &cell);
    writes += cell.writes;
  }
  const std::uint64_t operations = total_operations();
  printf("rwlock_stress: %llu operations, %llu writes, %d violations\n",
         static_cast<unsigned long long>(operations), static_cast<unsigned long long>(writes),
         failures.load());
  if (operations == 0) fail("no thread did anything", nullptr);
  return failures == 0 ? 0 : 1;
}
