#include <cstring>

#include "platform/native.h"
#include "platform/topology.h"
#include "registry/rwlocks.h"

namespace lockswap {

const char* auto_rwlock(const Config& config) noexcept {
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  if (topology.allowed == 1) return "pthread";
  return topology.nodes == 1 ? "bravo-pthread" : "bravo-cohort";
}

void settle_auto(Config& config) noexcept {
  config.automatic = config.rwlock != nullptr && std::strcmp(config.rwlock, "auto") == 0;
  if (config.automatic) config.rwlock = auto_rwlock(config);
}

}  // namespace lockswap
