// The lock templates themselves, without the preload: threads read and write plain data under each
// lock and wait policy. Built a second time under ThreadSanitizer, which then knows of every access
// whether the declared memory orders cover it.
//
// usage: rw_stress [MILLISECONDS for each lock and wait policy]

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <random>
#include <thread>
#include <vector>

#include "locks/rw/ba.h"
#include "locks/rw/bravo.h"
#include "locks/rw/cohort.h"
#include "locks/rw/per-cpu.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/rlu.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "readers/row_slots.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace {

using namespace lockswap;

constexpr int kThreads = 6;
constexpr int kLocks = 3;
int failures = 0;

template <class Contract>
struct Guarded {
  typename Contract::Frame frame;
  long a = 0;  // equal to b, but for a writer inside
  long b = 0;
};

template <class Contract>
void read(Guarded<Contract>& g, std::atomic<long>& bad) {
  if (g.a != g.b) bad.fetch_add(1, std::memory_order_relaxed);
}
template <class Contract>
void write(Guarded<Contract>& g, std::atomic<long>& bad) {
  if (g.a != g.b) bad.fetch_add(1, std::memory_order_relaxed);
  ++g.a;
  ++g.b;
}

Deadline soon() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += 50'000;
  if (t.tv_nsec >= 1'000'000'000) {
    t.tv_nsec -= 1'000'000'000;
    ++t.tv_sec;
  }
  return {CLOCK_MONOTONIC, t};
}

template <class Contract>
int read_lock(typename Contract::Frame& f) {
  const std::uint32_t rest = Contract::fast_read(f);
  return rest == 0 ? 0 : Contract::slow_read(f, rest, nullptr);
}

template <class Contract>
void step(Guarded<Contract>& g, std::mt19937& random, std::atomic<long>& bad) {
  auto& f = g.frame;
  const Deadline deadline = soon();
  const unsigned what = random() % 100;
  int got;
  if (what < 15) {
    got = Contract::write_lock(f);
  } else if (what < 20) {
    got = Contract::write_lock(f, {.only_try = true});
  } else if (what < 25) {
    got = Contract::write_lock(f, {.deadline = &deadline});
  } else if (what < 80) {
    got = read_lock<Contract>(f);
  } else if (what < 90) {
    got = Contract::read_lock(f, {.only_try = true});
  } else {
    got = Contract::read_lock(f, {.deadline = &deadline});
  }
  if (got != 0) return;
  if (what < 25) {
    write(g, bad);
  } else {
    read(g, bad);
    if (what % 4 == 0 && read_lock<Contract>(f) == 0) {
      read(g, bad);
      Contract::slow_unlock(f);
    }
  }
  Contract::slow_unlock(f);
}

template <class Contract>
void stress(const char* name, int milliseconds) {
  std::vector<Guarded<Contract>> locks(kLocks);
  for (auto& g : locks)
    Contract::adopt(g.frame);
  std::atomic<bool> stop{false};
  std::atomic<long> bad{0};
  std::atomic<long> steps{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine) {
        step(locks[random() % kLocks], random, bad);
      }
      steps.fetch_add(mine);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  stop.store(true);
  for (auto& t : threads)
    t.join();
  bool clean = bad.load() == 0;
  for (auto& g : locks)
    clean = clean && g.a == g.b && g.frame.core.idle();
  std::printf("%-4s %-18s %9ld steps, %ld bad\n", clean ? "ok" : "FAIL", name, steps.load(),
              bad.load());
  if (!clean || steps.load() == 0) ++failures;
}

template <class W>
void all(const char* wait, int milliseconds) {
  std::printf("%s\n", wait);
  const auto run = [&]<class Lock>(const char* name, Lock*) {
    using Contract = RwContract<Native, W, Lock, CountNothing>;
    Contract::prepare();
    stress<Contract>(name, milliseconds);
  };
  run("pf-t", static_cast<Unbiased<Native, PfT<Native, W>, CountNothing>*>(nullptr));
  run("ba", static_cast<Unbiased<Native, Ba<Native, W>, CountNothing>*>(nullptr));
  run("cohort", static_cast<Unbiased<Native, CohortRw<Native, W>, CountNothing>*>(nullptr));
  run("cohort-n",
      static_cast<Unbiased<Native, CohortRwNeutral<Native, W>, CountNothing>*>(nullptr));
  run("cohort-rp",
      static_cast<Unbiased<Native, CohortRwReaders<Native, W>, CountNothing>*>(nullptr));
  run("bravo-cohort", static_cast<Bravo<Native, W, CohortRw<Native, W>, CountNothing>*>(nullptr));
  run("per-cpu", static_cast<Unbiased<Native, PerCpu<Native, W>, CountNothing>*>(nullptr));
  run("bravo-per-cpu", static_cast<Bravo<Native, W, PerCpu<Native, W>, CountNothing>*>(nullptr));
  run("rlu", static_cast<Unbiased<Native, Rlu<Native, W>, CountNothing>*>(nullptr));
  run("rlu-asym", static_cast<Unbiased<Native, RluAsym<Native, W>, CountNothing>*>(nullptr));
  using Rows = RowSlots<Native, W>;
  run("bravo-asym-pf-t",
      static_cast<Bravo<Native, W, PfT<Native, W>, CountNothing, Rows>*>(nullptr));
  run("bravo-asym-rlu",
      static_cast<Bravo<Native, W, Rlu<Native, W>, CountNothing, Rows>*>(nullptr));
  run("bravo-rlu", static_cast<Bravo<Native, W, Rlu<Native, W>, CountNothing>*>(nullptr));
  run("bravo-pf-t", static_cast<Bravo<Native, W, PfT<Native, W>, CountNothing>*>(nullptr));
  run("bravo-ba", static_cast<Bravo<Native, W, Ba<Native, W>, CountNothing>*>(nullptr));
}

}  // namespace

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (milliseconds <= 0) {
    std::fprintf(stderr, "usage: rw_stress [MILLISECONDS]\n");
    return 2;
  }
  static constinit Slot slots[64] __attribute__((aligned(64)));
  Native::global<ReadersTable<Native>>() = {slots, 63, 9};
  ThreadExit::prepare();
  prepare_scan();
  // Each thread on a CPU of its own, three on each node: or the large locks would have few parts.
  Native::set_pretence({2, 4, 1});
  all<Park<Native>>("park", milliseconds);
  all<Yield<Native>>("yield", milliseconds);
  all<Spin<Native>>("spin", milliseconds);
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}
