#include "common/clock.h"

#include <fstream>
#include <string>
#include <unistd.h>

namespace bench {
namespace {

bool kernel_trusts_tsc() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  return file >> name && name == "tsc";
}

struct Moment {
  std::uint64_t tick = ticks();
  double second = seconds_of(CLOCK_MONOTONIC);
};

}  // namespace

const bool ticks_are_tsc = kernel_trusts_tsc();

namespace {
const Moment started;  // after ticks_are_tsc: the order within this file
}

double ns_per_tick() {
  if (!ticks_are_tsc) return 1;
  constexpr double kLongEnough = 0.02;
  const double missing = kLongEnough - (seconds_of(CLOCK_MONOTONIC) - started.second);
  if (missing > 0) usleep(static_cast<useconds_t>(missing * 1e6) + 1);
  const Moment now;
  return (now.second - started.second) * 1e9 / static_cast<double>(now.tick - started.tick);
}

}  // namespace bench
