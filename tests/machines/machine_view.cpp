// What lockswap sees of the machine that it runs on, as one line of JSON: its topology, and, from
// each CPU that this process may use, where it says that it is.
#include <cstdint>
#include <cstdio>
#include <sched.h>

#include "platform/topology.h"
#include "registry/config.h"

namespace {

using namespace lockswap;

bool stand_on(unsigned cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

void print_places(const cpu_set_t& allowed) {
  const char* before = "";
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || !stand_on(cpu)) continue;
    unsigned kernels_cpu = 0, kernels_node = 0;
    getcpu(&kernels_cpu, &kernels_node);
    std::printf("%s{\"cpu\":%u,\"kernels_node\":%u,\"seen\":%u,\"asked\":%u,\"node\":%u}", before,
                kernels_cpu, kernels_node, current_cpu(), ask_current_cpu(), current_node());
    before = ",";
  }
}

}  // namespace

int main() {
  Config config;
  char message[2048];
  if (!read_config(config, message, sizeof message)) {
    std::fprintf(stderr, "%s", message);
    return 2;
  }
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  read_topology(config.topology);
  const Topology& t = topology;
  std::printf("{\"cpus\":%u,\"online\":%u,\"allowed\":%u,\"nodes\":%u,\"smt\":%u,\"rseq\":%s",
              t.cpus, t.online, t.allowed, t.nodes, t.smt, cpu_id_offset != 0 ? "true" : "false");
  std::printf(",\"node_of_cpu\":[");
  for (std::uint32_t cpu = 0; cpu < t.cpus; ++cpu)
    std::printf("%s%u", cpu == 0 ? "" : ",", unsigned{node_of_cpu[cpu]});
  std::printf("],\"places\":[");
  print_places(allowed);
  std::printf("]}\n");
  return 0;
}
