// Where a thread stands: on which CPU, and of which node the kernel says that this is.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sched.h>
#include <string>
#include <vector>

namespace standing {

using Numbers = std::vector<unsigned>;

[[noreturn]] inline void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::_Exit(1);
}

inline void must(int error, const char* what) {
  if (error != 0) fail(std::string(what) + ": error " + std::to_string(error));
}

inline void stand_on(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  must(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

inline Numbers allowed_cpus() {
  cpu_set_t set;
  must(sched_getaffinity(0, sizeof set, &set), "sched_getaffinity");
  Numbers cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

inline unsigned kernels_node() {
  unsigned cpu = 0, node = 0;
  getcpu(&cpu, &node);
  return node;
}

inline std::map<unsigned, Numbers> cpus_by_node() {
  std::map<unsigned, Numbers> nodes;
  for (const unsigned cpu : allowed_cpus()) {
    stand_on(cpu);
    nodes[kernels_node()].push_back(cpu);
  }
  return nodes;
}

}  // namespace standing
