// lockswap-measure: what `lockswap machine` measures of the machine that it is on.
//
//   lockswap-measure latencies SECONDS CPU CPU...   a line for each pair: CPU CPU MEDIAN LOW HIGH
//   lockswap-measure costs CPU                      a line for each operation: NAME MEDIAN LOW HIGH
//   lockswap-measure scheduling CPU CPU             the same of what the scheduler takes
//   lockswap-measure locks CPU                      the same of pthread locks, which may be swapped
//
// All are nanoseconds; LOW and HIGH are quartiles of several rounds. A pair's line is written when
// it is measured, so a reader can show how far it is.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "costs.h"
#include "pingpong.h"
#include "scheduler.h"
#include "timing.h"

namespace {

using namespace lockswap::measure;

int fail(const std::string& why) {
  std::fprintf(stderr, "lockswap-measure: %s\n", why.c_str());
  return 2;
}

int no_processor(int cpu) {
  return fail("the kernel lets no thread run on processor " + std::to_string(cpu));
}

int latencies(double seconds, const std::vector<int>& cpus) {
  const double end = now_ns() + seconds * 1e9;
  std::size_t left = cpus.size() * (cpus.size() - 1) / 2;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    for (std::size_t j = i + 1; j < cpus.size(); ++j, --left) {
      // What earlier pairs took too long, all that follow make up for.
      const auto found = ping_pong(cpus[i], cpus[j], (end - now_ns()) / static_cast<double>(left));
      if (!found)
        return fail("no thread may be pinned to processors " + std::to_string(cpus[i]) + " and " +
                    std::to_string(cpus[j]));
      std::printf("%d %d %.2f %.2f %.2f\n", cpus[i], cpus[j], found->median, found->low,
                  found->high);
      std::fflush(stdout);
    }
  }
  return 0;
}

int print(const Costs& costs) {
  for (const auto& [name, ns] : costs)
    std::printf("%s %.3f %.3f %.3f\n", name, ns.median, ns.low, ns.high);
  return 0;
}

int print(int cpu, Costs (*measured)()) {
  if (!pin_to(cpu)) return no_processor(cpu);
  return print(measured());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::vector<int> cpus;
  for (int i = what == "latencies" ? 3 : 2; i < argc; ++i)
    cpus.push_back(std::atoi(argv[i]));
  if (what == "latencies" && argc > 3 && std::atof(argv[2]) > 0)
    return latencies(std::atof(argv[2]), cpus);
  if (what == "costs" && cpus.size() == 1) return print(cpus[0], own_costs);
  if (what == "locks" && cpus.size() == 1) return print(cpus[0], uncontended_pairs);
  if (what == "scheduling" && cpus.size() == 2) {
    const Costs found = scheduling(cpus[0], cpus[1]);
    return found.empty() ? no_processor(cpus[1]) : print(found);
  }
  return fail("give 'latencies SECONDS CPU...', 'costs CPU', 'scheduling CPU CPU' or 'locks CPU'");
}
