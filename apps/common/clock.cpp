#include "common/clock.h"

#include <fstream>
#include <string>
#include <unistd.h>

#include "platform/clock.h"
#include "platform/counter_rate.h"

namespace bench {
namespace {

bool kernel_trusts_tsc() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}

lockswap::ReadTogether now() { return lockswap::read_together(lockswap::monotonic_ns, ticks); }

}  // namespace

const bool ticks_are_tsc = kernel_trusts_tsc();

namespace {
const lockswap::ReadTogether started = now();  // after ticks_are_tsc: the order within this file
}

double ns_per_tick() {
  if (!ticks_are_tsc) return 1;
  constexpr std::uint64_t kLongEnough = 20'000'000;
  const std::uint64_t passed = lockswap::monotonic_ns() - started.ns;
  if (passed < kLongEnough) usleep(static_cast<useconds_t>((kLongEnough - passed) / 1000 + 1));
  const lockswap::ReadTogether end = now();
  return static_cast<double>(end.ns - started.ns) / static_cast<double>(end.ticks - started.ticks);
}

}  // namespace bench
