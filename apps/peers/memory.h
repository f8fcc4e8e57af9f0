// What locks need beside their own bytes, once they are used: measured, as growth of the memory
// that the process has to itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "common/lock.h"

namespace peers {

struct Footprint {
  double beside = 0;  // bytes of each lock, without the object itself
  double thread = 0;  // bytes of each thread that has used a lock
};

// Kilobytes of the process: its address space, what of it is in memory, and what of that is in no
// file.
struct ProcessMemory {
  long address_space = 0;
  long resident = 0;
  long own = 0;
};
ProcessMemory process_memory();
// The first two of the files that are mapped and whose names begin like this.
ProcessMemory memory_of_files(std::string_view prefix);

template <bench::Lockable Lock>
void use(Lock& lock) {
  typename Lock::Seat seat(lock);
  lock.lock(seat);
  lock.unlock(seat);
  if constexpr (bench::SharedLockable<Lock>) {
    lock.lock_shared(seat);
    lock.unlock_shared(seat);
  }
}

template <bench::Lockable Lock>
double bytes_beside_a_lock() {
  constexpr std::size_t kLocks = 20'000;
  const auto locks = std::make_unique<Lock[]>(kLocks);
  const long before = process_memory().own;
  for (std::size_t i = 0; i < kLocks; ++i)
    use(locks[i]);
  return static_cast<double>(process_memory().own - before) * 1024 / kLocks;
}

// Threads that live at the same time, and meet before and after the only thing that they do.
template <bench::Lockable Lock>
double bytes_of_a_thread() {
  constexpr int kThreads = 64;
  std::atomic<int> arrived{0}, phase{0};
  const auto meet = [&](int next) {
    ++arrived;
    arrived.notify_all();
    phase.wait(next - 1);
  };
  const auto await = [&](int all) {
    for (int n = arrived; n != all; n = arrived)
      arrived.wait(n);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      volatile char stack[1 << 14];  // so that no call needs another page of it
      for (std::size_t at = 0; at < sizeof stack; at += 1024)
        stack[at] = 1;
      Lock lock;  // its own, since with one for all they would wait
      meet(1);
      use(lock);
      meet(2);
    });
  }
  await(kThreads);
  const long before = process_memory().own;
  phase = 1;
  phase.notify_all();
  await(2 * kThreads);
  const long after = process_memory().own;
  phase = 2;
  phase.notify_all();
  for (std::thread& t : threads)
    t.join();
  return static_cast<double>(after - before) * 1024 / kThreads;
}

template <bench::Lockable Lock>
Footprint footprint() {
  {
    Lock first;
    use(first);  // what a library sets up once
  }
  const double beside = bytes_beside_a_lock<Lock>();
  // Each of the threads has used a lock of its own.
  return {beside, std::max(bytes_of_a_thread<Lock>() - beside, 0.0)};
}

}  // namespace peers
