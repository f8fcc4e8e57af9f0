#include "memory.h"

#include <cstdio>
#include <fstream>
#include <string>

namespace peers {
namespace {

// Calls found(name, kilobytes) for each line "name: kilobytes kB", and head(line) for the others.
template <class Head, class Found>
void each_line(const char* file, const Head& head, const Found& found) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    char name[64];
    long kilobytes = 0;
    if (std::sscanf(line.c_str(), "%63[A-Za-z_]: %ld kB", name, &kilobytes) == 2) {
      found(std::string_view(name), kilobytes);
    } else {
      head(std::string_view(line));
    }
  }
}

}  // namespace

ProcessMemory process_memory() {
  ProcessMemory memory;
  const auto ignore = [](std::string_view) {};
  each_line("/proc/self/smaps_rollup", ignore, [&](std::string_view name, long kilobytes) {
    if (name == "Anonymous") memory.own = kilobytes;
    if (name == "Rss") memory.resident = kilobytes;  // exact, unlike VmRSS
  });
  each_line("/proc/self/status", ignore, [&](std::string_view name, long kilobytes) {
    if (name == "VmSize") memory.address_space = kilobytes;
  });
  return memory;
}

ProcessMemory memory_of_files(std::string_view prefix) {
  ProcessMemory memory;
  bool counts = false;
  each_line(
      "/proc/self/smaps",
      [&](std::string_view line) {
        if (line.find('-') >= line.find(' ')) return;  // no mapping begins here
        counts = line.substr(line.rfind('/') + 1).starts_with(prefix);
      },
      [&](std::string_view name, long kilobytes) {
        if (counts && name == "Size") memory.address_space += kilobytes;
        if (counts && name == "Rss") memory.resident += kilobytes;
      });
  return memory;
}

}  // namespace peers
