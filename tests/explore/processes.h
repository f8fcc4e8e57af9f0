// Work that several processes share, each with a machine of its own.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

namespace lockswap::explore {

// Forks `count` processes; each does its part, 0 to count - 1, and writes to its file. What they
// wrote, in the order of the parts. One that does not end well ends this process, too: with
// status 1, or by the same signal. With a count of 1 this process does the work.
std::vector<std::string> in_processes(
    unsigned count, const std::function<void(unsigned part, std::FILE* out)>& work);

struct Ended {
  std::string written;
  bool crashed;
};
// Forks a process that may crash. What it prints is lost; what it writes to its file is not, once
// it is flushed. Any other bad end, as by SIGKILL, ends this process, too.
Ended in_own_process(const std::function<void(std::FILE* out)>& work);

}  // namespace lockswap::explore
