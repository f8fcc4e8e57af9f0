#include <cstring>

#include "platform/native.h"
#include "platform/topology.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {

const char* auto_rwlock(const Config& config) noexcept {
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  if (topology.allowed == 1) return "pthread";
  return topology.nodes == 1 ? "bravo-pthread" : "bravo-cohort";
}

const char* auto_mutex(const Config& config) noexcept {
  Native::set_pretence(config.topology);
  Native::prepare_topology();
  return topology.allowed == 1 || topology.nodes == 1 ? "pthread" : "cohort";
}

void settle_auto(Config& config) noexcept {
  const auto is_auto = [](const char* name) {
    return name != nullptr && std::strcmp(name, "auto") == 0;
  };
  config.automatic = is_auto(config.rwlock);
  if (config.automatic) config.rwlock = auto_rwlock(config);
  config.automatic_mutex = is_auto(config.mutex);
  if (config.automatic_mutex) config.mutex = auto_mutex(config);
}

}  // namespace lockswap
