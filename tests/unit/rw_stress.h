// Threads that read and write plain data under a lock. Each lock of rw_list.def has a translation
// unit of its own for that, which CMake writes from rw_stress.cpp.in.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "platform/native.h"
#include "posix/rw_contract.h"
#include "readers/row_slots.h"
#include "registry/list_words.h"
#include "registry/rw_forms.h"
#include "registry/waits.h"

namespace lockswap::stress {

constexpr int kLocks = 3;

// xorshift32; not 0.
class Random {
 public:
  explicit Random(std::uint32_t seed) noexcept : state_(seed) {}
  std::uint32_t operator()() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }

 private:
  std::uint32_t state_;
};

// What the threads do, which is the same for all locks, is compiled once, in rw_stress_threads.cpp.
struct Tested {
  void* locks;
  void (*step)(void* locks, Random& random, std::atomic<long>& bad);
  bool (*is_sound)(void* locks);
};
void stress(const char* prefix, const char* name, const Tested& tested, int milliseconds);
// Called before the first, and after the last; the latter returns the exit status.
void start();
int say_failures();

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

inline Deadline soon() {
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
int write_lock(typename Contract::Frame& f) {
  const Below below = Contract::fast_write(f);
  if (below == Below::in) return 0;
  return below == Below::arrived ? Contract::go_on_writing(f) : Contract::write_lock(f);
}
template <class Contract>
int read_lock(typename Contract::Frame& f) {
  std::uint64_t rest = Contract::fast_read(f);
  if (rest == Contract::kNotBegun) rest = Contract::nested_read(f);
  return rest == 0 ? 0 : Contract::slow_read(f, rest, nullptr);
}

template <class Contract>
void step(Guarded<Contract>& g, Random& random, std::atomic<long>& bad) {
  auto& f = g.frame;
  const Deadline deadline = soon();
  const unsigned what = random() % 100;
  int got;
  if (what < 15) {
    got = write_lock<Contract>(f);
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
void stress_one(const char* prefix, const char* name, int milliseconds) {
  using Lock = Guarded<Contract>;
  Lock* locks = new Lock[kLocks]();
  for (int i = 0; i < kLocks; ++i)
    Contract::adopt(locks[i].frame);
  const Tested tested{
      .locks = locks,
      .step =
          [](void* all, Random& random, std::atomic<long>& bad) {
            step(static_cast<Lock*>(all)[random() % kLocks], random, bad);
          },
      .is_sound =
          [](void* all) {
            auto* lock = static_cast<Lock*>(all);
            for (const Lock* end = lock + kLocks; lock != end; ++lock)
              if (lock->a != lock->b || !lock->frame.core.idle()) return false;
            return true;
          },
  };
  stress(prefix, name, tested, milliseconds);
  delete[] locks;
}

template <class W, class Lock>
void run(const char* prefix, const char* name, int milliseconds) {
  using Contract = RwContract<Native, W, Lock, CountNothing>;
  Contract::prepare();
  stress_one<Contract>(prefix, name, milliseconds);
}

// A line of rw_list.def.
template <class Core, class W, ListWords kWords>
void line_of(const char* name, int milliseconds) {
  if constexpr (has_direct_form(kWords)) {
    run<W, Unbiased<Native, Core, CountNothing>>("", name, milliseconds);
    if constexpr (has_bravo_form(kWords))
      run<W, Bravo<Native, W, Core, CountNothing>>("bravo-", name, milliseconds);
    // One source over all of them: where it is shown, and where the lock's readers have rows, too.
    if constexpr (has_bravo_asym_form<Core>(kWords) &&
                  (has(kWords, SHOWS_BRAVO_ASYM) || requires { Core::kAsymmetric; }))
      run<W, Bravo<Native, W, Core, CountNothing, RowSlots<Native, W>>>("bravo-asym-", name,
                                                                        milliseconds);
  }
}

template <template <class, class> class Core, ListWords kWords>
void line(const char* name, const char* wait, int milliseconds) {
  const std::size_t chosen = choose_wait(wait);
  WaitTypes::for_each([&]<template <class> class Wait>(std::size_t type) {
    using W = Wait<Native>;
    if (type == chosen) line_of<Core<Native, W>, W, kWords>(name, milliseconds);
  });
}

}  // namespace lockswap::stress
