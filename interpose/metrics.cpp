#include "interpose/metrics.h"

#include "config/metrics.h"
#include "config/policy.h"
#include "interpose/module_functions.h"
#include "metrics/counters.h"
#include "metrics/locks.h"
#include "metrics/start.h"
#include "platform/error_text.h"
#include "platform/looks.h"
#include "platform/say.h"
#include "platform/text.h"
#include "probes/slow_stages.h"
#include "recording/file.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

// A forbidden place is no reason to stop a program.
void say_why_not() noexcept {
  static constinit char line[4200];  // the folder's name has up to 4,000 bytes
  Text text(line, sizeof line);
  text << "lockswap: LOCKSWAP_METRICS: nothing is counted: no file can be made in ";
  put_error(text << metrics_folder() << ": ", recording::file_error());
  text << "\n";
  say(line);
}

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
  if (!metrics::begin(metrics_folder(), running, module_functions())) return say_why_not();
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
