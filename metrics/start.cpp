#include "metrics/start.h"

#include "metrics/counters.h"
#include "metrics/series.h"
#include "platform/ticks.h"

namespace lockswap::metrics {

bool begin(const char* folder, const Running& running,
           const recording::ModuleFunctions& functions) noexcept {
  recording::modules = functions;
  Ticks::calibrate();
  prepare_counters(running.counts_holds);
  the_world = recording::map_world<World>();
  return the_world != nullptr && open_file(folder, running);
}

void forked() noexcept {
  if (the_world == nullptr) return;
  recording::empty_if_of_parent(world());
  forget_thread();
}

void end() noexcept {
  if (the_world == nullptr) return;
  // A child that has taken no lock has no file, and its parent's is still mapped.
  if (world().is_ready() && world().records) record().head.ended.store(1, relaxed);
}

}  // namespace lockswap::metrics
