#include "interpose/metrics.h"

#include "config/metrics.h"
#include "config/policy.h"
#include "interpose/module_functions.h"
#include "interpose/say_no_file.h"
#include "metrics/counters.h"
#include "metrics/locks.h"
#include "metrics/start.h"
#include "platform/looks.h"
#include "probes/slow_stages.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

void count_stage(const probes::SlowStage& s) noexcept {
  metrics::count_stage(
      {s.mutex, metrics::Kind::mutex, metrics::Mode::exclusive, s.begin, s.end, s.caller});
}

}  // namespace

void begin_metrics(const Config& config, RwOps& rwlock, MutexChoice& choice) noexcept {
  static constinit MutexOps mutex{};
  static constinit CondOps cond{};
  static constinit CondOps old_cond{};
  const bool holds = metrics_count_holds();
  const bool is_mixed = config.policy != nullptr;
  const char* const mutex_name = config.mutex != nullptr ? config.mutex : "pthread";
  const metrics::Running running{.version = LOCKSWAP_VERSION,
                                 .rwlock = is_mixed ? "policy" : rwlock_of(config).name,
                                 .mutex = is_mixed ? "policy" : mutex_name,
                                 .counts_holds = holds};
  Looks::prepare();
  if (!metrics::begin(metrics_folder(), running, module_functions()))
    return say_no_file("LOCKSWAP_METRICS: nothing is counted:", metrics_folder());
  probes::on_slow_stage = count_stage;
  rwlock = metrics::over_rwlock(rwlock, {is_mixed || rwlock_of(config).passes_through(), holds});
  mutex = metrics::over_mutex(*choice.mutex, {is_mixed || config.mutex == nullptr, holds});
  choice.mutex = &mutex;
  if (!holds) return;
  cond = metrics::over_cond(*choice.cond);
  old_cond = metrics::over_old_cond(*choice.old_cond);
  choice.cond = &cond;
  choice.old_cond = &old_cond;
}

}  // namespace lockswap
