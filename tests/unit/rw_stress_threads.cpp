// The threads of the stress tests of reader-writer locks, and the start of the library for them.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "platform/libc_watch.h"
#include "rw_stress.h"

namespace lockswap::stress {

namespace {
constexpr int kThreads = 6;
int failures = 0;
}  // namespace

void stress(const char* prefix, const char* name, const Tested& tested, int milliseconds) {
  std::atomic<bool> stop{false};
  std::atomic<long> bad{0};
  std::atomic<long> steps{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<std::uint32_t>(t + 1) * 0x9e3779b9u);
      long mine = 0;
      do {  // a step at least, though it may come late to a processor
        tested.step(tested.locks, random, bad);
        ++mine;
      } while (!stop.load(std::memory_order_relaxed));
      steps.fetch_add(mine);
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  stop.store(true);
  for (auto& t : threads)
    t.join();
  const bool clean = bad.load() == 0 && tested.is_sound(tested.locks);
  std::printf("%-4s %-18s %9ld steps, %ld bad\n", clean ? "ok" : "FAIL",
              (std::string(prefix) + name).c_str(), steps.load(), bad.load());
  if (!clean) ++failures;
}

void start() {
  static constinit Slot slots[64] __attribute__((aligned(64)));
  Native::global<ReadersTable<Native>>() = {slots, 63, 9};
  ThreadExit::prepare(&watched_by_libc);
  prepare_scan();
  // Each thread has its own CPU, three to a node; otherwise the large locks would have few parts.
  Native::set_pretence({2, 4, 1});
}

int say_failures() {
  std::printf("%d failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace lockswap::stress
