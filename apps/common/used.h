// How the processors went by while threads worked: Bonsai's table 1 and LDU's have these.
#pragma once

#include <algorithm>

#include <sys/resource.h>

#include "common/clock.h"

namespace bench {

// Shares of the processors' time; they add up to 1.
struct Shares {
  double user, system, idle;
};

// What the process has used in that many seconds by the clock.
struct Spent {
  double seconds = 0, user = 0, system = 0;

  double cpu() const noexcept { return user + system; }
  // A kernel that charges whole ticks can charge more than the clock says has passed: then that
  // is all there was.
  Shares shares(double processors) const noexcept {
    const double all = std::max(seconds * processors, cpu());
    if (all <= 0) return {0, 0, 1};
    return {user / all, system / all, (all - cpu()) / all};
  }
};

// From its construction on. The clock's interval encloses the one that the kernel charges.
class Used {
 public:
  Spent until_now() const noexcept {
    const rusage now = charged();
    const double clock = seconds_of(CLOCK_MONOTONIC);
    return {clock - clock_, seconds(now.ru_utime) - seconds(charged_.ru_utime),
            seconds(now.ru_stime) - seconds(charged_.ru_stime)};
  }

 private:
  static rusage charged() noexcept {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    return now;
  }
  static double seconds(const timeval& t) noexcept {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  }
  double clock_ = seconds_of(CLOCK_MONOTONIC);
  rusage charged_ = charged();
};

}  // namespace bench
