// The lock templates themselves, without the preload: threads read and write plain data under each
// lock and wait policy. It is built a second time under ThreadSanitizer, which checks that the
// declared memory orders cover every access.
//
// usage: rw_stress [MILLISECONDS for each lock and wait policy]

#include "rw_stress.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "platform/libc_watch.h"

namespace lockswap::stress {

constexpr int kThreads = 6;
int failures = 0;

void stress(const char* prefix, const char* name, const Tested& tested, int milliseconds) {
  std::atomic<bool> stop{false};
  std::atomic<long> bad{0};
  std::atomic<long> steps{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Random random(static_cast<std::uint32_t>(t + 1) * 0x9e3779b9u);
      long mine = 0;
      for (; !stop.load(std::memory_order_relaxed); ++mine)
        tested.step(tested.locks, random, bad);
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
  if (!clean || steps.load() == 0) ++failures;
}

#define RW_LOCK(name, Class, header, words) void line_##Class(const char* wait, int milliseconds);
#include "registry/rw_list.def"
#undef RW_LOCK
}  // namespace lockswap::stress

int main(int argc, char** argv) {
  using namespace lockswap;
  const int milliseconds = argc > 1 ? std::atoi(argv[1]) : 300;
  if (milliseconds <= 0) {
    std::fprintf(stderr, "usage: rw_stress [MILLISECONDS]\n");
    return 2;
  }
  static constinit Slot slots[64] __attribute__((aligned(64)));
  Native::global<ReadersTable<Native>>() = {slots, 63, 9};
  ThreadExit::prepare(&watched_by_libc);
  prepare_scan();
  // Each thread has its own CPU, three to a node; otherwise the large locks would have few parts.
  Native::set_pretence({2, 4, 1});
  for (const char* wait : {"park", "yield", "spin"}) {
    std::printf("%s\n", wait);
#define RW_LOCK(name, Class, header, words) stress::line_##Class(wait, milliseconds);
#include "registry/rw_list.def"
#undef RW_LOCK
  }
  std::printf("%d failed\n", stress::failures);
  return stress::failures == 0 ? 0 : 1;
}
