// The waits of each class of locks: the same workloads and traces, on a machine that times them.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <utility>

#include "address_space/designs.h"
#include "address_space/run_waits.h"
#include "address_space/time_waits.h"

namespace bench {
namespace {

std::mutex mutex;
std::array<Waits::Sum, kLockClasses> of_all;

constexpr const char* kNames[] = {"space_read",  "space_write", "range_read",
                                  "range_write", "change",      "index_read",
                                  "index_write", "table",       "tree"};

}  // namespace

Waits::~Waits() {
  const std::lock_guard held(mutex);
  for (std::size_t i = 0; i < kLockClasses; ++i) {
    of_all[i].count += sums[i].count;
    of_all[i].ticks += sums[i].ticks;
    of_all[i].most = std::max(of_all[i].most, sums[i].most);
  }
}

Waits& waits_of_thread() {
  static thread_local Waits waits;
  return waits;
}

std::array<Waits::Sum, kLockClasses> take_waits() {
  const std::lock_guard held(mutex);
  return std::exchange(of_all, {});
}

void print_waits(double seconds_of_threads) {
  const auto sums = take_waits();
  for (std::size_t i = 0; i < kLockClasses; ++i) {
    const Waits::Sum& s = sums[i];
    if (s.count == 0) continue;
    const double ns = static_cast<double>(s.ticks) * ns_per_tick();
    std::printf("wait_%s_ns %.1f wait_%s_max_ns %.0f wait_%s_share %.4f waits_%s %" PRIu64 "\n",
                kNames[i], ns / static_cast<double>(s.count), kNames[i],
                static_cast<double>(s.most) * ns_per_tick(), kNames[i],
                ns / 1e9 / seconds_of_threads, kNames[i], s.count);
  }
}

void run_waits(const std::string& design, const Plan& plan, const Work& work, const Trace* trace,
               const SpaceOptions& options) {
  using namespace lockswap::address_space;
// NOLINTBEGIN(bugprone-macro-parentheses): a class template cannot stand in parentheses.
#define DESIGN(name, Class) \
  if (design == name) time_waits<Class, TimedMachine>(plan, work, trace, options);
#include "address_space/designs.def"
#undef DESIGN
  // NOLINTEND(bugprone-macro-parentheses)
}

}  // namespace bench
