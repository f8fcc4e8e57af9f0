// The mutex and condition variable templates themselves, without the preload, over plain data. It
// is built a second time under ThreadSanitizer, which checks that the declared memory orders cover
// every access.
//
// usage: mutex_stress [MILLISECONDS for each mutex and wait policy]

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "platform/libc_watch.h"
#include "platform/native.h"
#include "posix/condvar.h"
#include "posix/mutex_contract.h"
#include "registry/mutex_list_headers.h"  // written by src/lists.cmake
#include "registry/waits.h"
#include "wait/park.h"
#include "wait/spin.h"
#include "wait/yield.h"

namespace {

using namespace lockswap;

constexpr int kThreads = 5;
constexpr int kRoom = 3;
int failures = 0;

Deadline soon(unsigned microseconds) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_nsec += microseconds * 1000;
  if (t.tv_nsec >= 1'000'000'000) {
    t.tv_nsec -= 1'000'000'000;
    ++t.tv_sec;
  }
  return {CLOCK_MONOTONIC, t};
}

// Sleeps as a cancellation point does, but is none: ThreadSanitizer loses track of a thread that
// jumps.
struct PlainSleep {
  template <class A>
  Slept park(const A& atom, std::uint32_t low, std::uint32_t channels, const Deadline* deadline) {
    return Native::park(atom, low, channels, deadline) == Parked::timed_out ? Slept::timed_out
                                                                            : Slept::woken;
  }
  static bool is_cancelled() { return false; }
};

// A mutex, a buffer of a few places and two condition variables.
template <class Contract>
struct Shared {
  using Cond = Condvar<Native, Park<Native>>;
  typename Contract::Frame frame;
  Cond filled, emptied;
  long a = 0;  // equal to b, but for a thread inside
  long b = 0;
  int items = 0;
  long put = 0, taken = 0;

  bool lock(unsigned what) {
    const Deadline deadline = soon(what % 97);
    if (what % 5 == 0) return Contract::try_lock(frame) == 0;
    if (what % 5 == 1) {
      return Contract::lock_until(frame, &deadline, [](const Deadline&) { return true; }) == 0;
    }
    if (!Contract::is_plain(frame)) std::abort();
    if (const auto rest = Contract::fast_lock(frame); rest != 0) {
      Contract::slow_lock(frame, rest);
    }
    return true;
  }
  void unlock() {
    if (const auto rest = Contract::fast_unlock(frame); rest != 0) {
      Contract::slow_unlock(frame, rest);
    }
  }
  // Returns false if the wait ended by its deadline. A patient one has none.
  bool wait(Cond& c, bool patient, unsigned what) {
    PlainSleep sleep;
    const Deadline deadline = soon(what % 50);
    const auto o = c.wait(
        reinterpret_cast<std::uintptr_t>(this), sleep, patient ? nullptr : &deadline,
        [this] { return Contract::unlock(frame); }, [this](bool) { return Contract::lock(frame); });
    return o.error == 0;
  }
  bool inside() {
    const bool good = a == b;
    ++a;
    ++b;
    return good;
  }
};

template <class Contract>
void run(const char* name, int milliseconds) {
  Contract::prepare();
  Shared<Contract>::Cond::prepare();
  Shared<Contract> s;
  Contract::begin(s.frame);
  std::atomic<bool> stop{false};
  std::atomic<long> bad{0}, entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      long mine = 0;
      // A section at least, though it may come late to a processor.
      while (mine == 0 || !stop.load(std::memory_order_relaxed)) {
        const unsigned what = random();
        if (!s.lock(what)) continue;
        ++mine;
        if (!s.inside()) bad.fetch_add(1, std::memory_order_relaxed);
        // The first two wait with deadlines, so there is always one that puts, and one that takes.
        const bool patient = t > 1 && random() % 2 == 0;
        const auto go_on = [&] { return !stop.load(std::memory_order_relaxed); };
        if (t % 2 == 0) {
          while (s.items == kRoom && go_on() && s.wait(s.emptied, patient, random())) {}
          if (s.items < kRoom) {
            ++s.items;
            ++s.put;
          }
          what % 3 == 0 ? s.filled.broadcast() : s.filled.signal();
        } else {
          while (s.items == 0 && go_on() && s.wait(s.filled, patient, random())) {}
          if (s.items > 0) {
            --s.items;
            ++s.taken;
          }
          if (what % 7 != 0) what % 3 == 0 ? s.emptied.broadcast() : s.emptied.signal();
        }
        if (!s.inside()) bad.fetch_add(1, std::memory_order_relaxed);
        s.unlock();
      }
      entered.fetch_add(mine);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  stop = true;
  // A thread that waits without a deadline has seen `stop`, or is in the list now.
  Contract::lock(s.frame);
  s.filled.broadcast();
  s.emptied.broadcast();
  s.unlock();
  for (std::thread& t : threads)
    t.join();
  const bool good = bad == 0 && s.a == s.b && s.a == 2 * entered && s.put == s.taken + s.items &&
                    s.frame.core.idle() && s.filled.at_rest() && s.emptied.at_rest();
  if (!good) ++failures;
  std::printf("%-16s %10ld sections%s\n", name, entered.load(), good ? "" : "  FAILED");
}

template <template <class, class> class Core>
void each_wait(const std::string& name, int milliseconds) {
  for (const WaitInfo& wait : kWaits) {
    const std::size_t chosen = choose_wait(wait.name);
    WaitTypes::for_each([&]<template <class> class Wait>(std::size_t type) {
      using Contract = MutexContract<Native, Core<Native, Wait<Native>>, CountNothing>;
      if (type == chosen) run<Contract>((name + "/" + wait.name).c_str(), milliseconds);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  ThreadExit::prepare(&watched_by_libc);
  // As in rw_stress: threads on two nodes, and more than a few CPUs.
  Native::set_pretence({2, 4, 1});
#define MUTEX(name, Class, header, words) each_wait<Class>(name, milliseconds);
#define MUTEX_NAME(name, Class, header, words, info)
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME
  return failures == 0 ? 0 : 1;
}
