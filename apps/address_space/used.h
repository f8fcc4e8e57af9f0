// How the processors went by while threads worked: Bonsai's table 1 has these for its programs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <thread>

#include <sys/resource.h>

#include "common/clock.h"

namespace bench {

// From its construction until print.
class Used {
 public:
  // Prints "user U system S idle I": shares of the time of the processors that so many threads can
  // use at most. It is the engine's time: there is no kernel in it, so "system" is what the machine
  // spends on locks that sleep.
  void print(int threads) const {
    const Times now = times();
    const auto most = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    const double all = (now.clock - began_.clock) * std::min(threads, most);
    const double user = (now.user - began_.user) / all;
    const double system = (now.system - began_.system) / all;
    std::printf("user %.4f system %.4f idle %.4f\n", user, system,
                std::max(0.0, 1 - user - system));
  }

 private:
  struct Times {
    double clock, user, system;
  };
  static Times times() {
    rusage now{};
    getrusage(RUSAGE_SELF, &now);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return {seconds_of(CLOCK_MONOTONIC), seconds(now.ru_utime), seconds(now.ru_stime)};
  }
  Times began_ = times();
};

}  // namespace bench
