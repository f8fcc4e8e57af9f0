// Prints what lockswap sees of the machine as one line of JSON: its topology and, for each CPU that
// this process may use, the place that lockswap gives for a thread there.
#include <cstdint>
#include <cstdio>
#include <sched.h>

#include "config/config.h"
#include "platform/topology.h"
#include "registry/all_names.h"
#include "standing.h"

namespace {

using namespace lockswap;

void print_places(const standing::Numbers& allowed) {
  const char* before = "";
  for (const unsigned cpu : allowed) {
    standing::stand_on(cpu);
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
  if (!read_config(config, all_names(), message, sizeof message)) {
    std::fprintf(stderr, "%s", message);
    return 2;
  }
  const standing::Numbers allowed = standing::allowed_cpus();
  read_topology(config.topology);
  const Topology& t = topology;
  std::printf("{\"cpus\":%u,\"online\":%u,\"allowed\":%u,\"nodes\":%u,\"smt\":%u,\"rseq\":%s",
              t.cpus, t.online, t.allowed, t.nodes, t.smt, cpu_id_offset != 0 ? "true" : "false");
  std::printf(",\"node_of_cpu\":[%u", unsigned{node_of_cpu[0]});
  for (std::uint32_t cpu = 1; cpu < t.cpus; ++cpu)
    std::printf(",%u", unsigned{node_of_cpu[cpu]});
  std::printf("],\"places\":[");
  print_places(allowed);
  std::printf("]}\n");
  return 0;
}
