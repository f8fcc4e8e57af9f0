#include "scheduler.h"

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <linux/futex.h>
#include <sys/syscall.h>

namespace lockswap::measure {

namespace {

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value) {
  return syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void doze(double ns) {
  const timespec t{0, static_cast<long>(ns)};
  nanosleep(&t, nullptr);
}

// A call that finds the word changed, and returns at once: into the kernel and back.
Spread refused_waits() {
  constexpr int kRounds = 21, kCalls = 500;
  std::atomic<std::uint32_t> word{1};
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    const double start = now_ns();
    for (int i = 0; i < kCalls; ++i)
      futex(word, FUTEX_WAIT, 0);
    rounds.push_back((now_ns() - start) / kCalls);
  }
  return Spread::of(rounds);
}

// A thread that sleeps in a futex, and one that wakes it.
class Waking {
 public:
  Costs measure(int waker, int sleeper) {
    std::thread sleeps([this, sleeper] { sleep(sleeper); });
    std::thread wakes([this, waker] { wake(waker); });
    wakes.join();
    sleeps.join();
    if (failed_) return {};
    return {{"wake", Spread::of(until_it_runs_)}, {"wake_call", Spread::of(call_)}};
  }

 private:
  static constexpr int kRounds = 101;

  void sleep(int processor) {
    if (!pin_to(processor)) failed_ = true;
    for (std::uint32_t round = 1; round <= kRounds && !failed_; ++round) {
      about_to_sleep_ = round;
      while (word_ != round && !failed_)
        futex(word_, FUTEX_WAIT, round - 1);
      awake_ = now_ns();
      seen_ = round;
    }
  }
  void wake(int processor) {
    if (!pin_to(processor)) failed_ = true;
    for (std::uint32_t round = 1; round <= kRounds && !failed_; ++round) {
      while (about_to_sleep_ != round && !failed_)
        sched_yield();
      doze(kUntilAsleepNs);
      const double start = now_ns();
      word_ = round;
      futex(word_, FUTEX_WAKE, INT_MAX);
      const double called = now_ns();
      while (seen_ != round && !failed_)
        sched_yield();
      until_it_runs_.push_back(awake_ - start);
      call_.push_back(called - start);
    }
    word_ = kRounds;
    futex(word_, FUTEX_WAKE, INT_MAX);
  }

  static constexpr double kUntilAsleepNs = 200'000;
  std::atomic<std::uint32_t> word_{0}, about_to_sleep_{0}, seen_{0};
  std::atomic<bool> failed_{false};
  double awake_ = 0;
  std::vector<double> until_it_runs_, call_;
};

// Two threads on one processor give it to each other. Where others have it in between, the round is
// an outlier.
Spread switches(int processor) {
  constexpr int kRounds = 21, kYields = 200;
  std::atomic<bool> ends{false};
  std::atomic<int> there{0};
  std::vector<double> rounds;
  std::thread other([&] {
    pin_to(processor);
    for (++there; !ends;)
      sched_yield();
  });
  std::thread one([&] {
    pin_to(processor);
    while (there == 0)
      sched_yield();
    for (int r = 0; r < kRounds; ++r) {
      const double start = now_ns();
      for (int i = 0; i < kYields; ++i)
        sched_yield();
      rounds.push_back((now_ns() - start) / (2 * kYields));
    }
    ends = true;
  });
  one.join();
  other.join();
  return Spread::of(rounds);
}

// How long a thread has the processor while another one on it works, too: until it finds that much
// more time has passed than its look at the clock takes.
Spread slices(int processor) {
  constexpr double kLength = 200e6, kGap = 200'000;
  std::vector<double> found;
  std::atomic<bool> ends{false};
  std::thread other([&] {
    pin_to(processor);
    while (!ends) {}
  });
  std::thread one([&] {
    pin_to(processor);
    const double end = now_ns() + kLength;
    double began = now_ns(), last = began;
    bool is_whole = false;  // the first slice had begun before
    while (last < end) {
      const double now = now_ns();
      if (now - last > kGap) {
        if (is_whole) found.push_back(last - began);
        is_whole = true;
        began = now;
      }
      last = now;
    }
    ends = true;
  });
  one.join();
  other.join();
  if (found.empty()) found.push_back(kLength);
  return Spread::of(found);
}

}  // namespace

Costs scheduling(int processor, int other) {
  if (processor == other || !pin_to(other) || !pin_to(processor)) return {};
  Costs all = Waking().measure(processor, other);
  if (all.empty()) return {};
  all.emplace_back("futex_call", refused_waits());
  all.emplace_back("switch", switches(processor));
  all.emplace_back("slice", slices(processor));
  return all;
}

}  // namespace lockswap::measure
