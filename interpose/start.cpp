#include "interpose/start.h"

#include <cstdint>
#include <cstring>
#include <pthread.h>

#include "calls/start.h"
#include "config/calls.h"
#include "config/config.h"
#include "config/delay.h"
#include "config/metrics.h"
#include "config/policy.h"
#include "config/profile_folder.h"
#include "interpose/bypasses.h"
#include "interpose/calls.h"
#include "interpose/delayed.h"
#include "interpose/exports.h"
#include "interpose/first_call.h"
#include "interpose/load_order.h"
#include "interpose/metrics.h"
#include "interpose/module_functions.h"
#include "interpose/modules.h"
#include "interpose/objects.h"
#include "interpose/policy_rules.h"
#include "interpose/real_symbols.h"
#include "interpose/say_no_file.h"
#include "interpose/what_runs.h"
#include "metrics/start.h"
#include "platform/alone.h"
#include "platform/looks.h"
#include "platform/process.h"
#include "platform/say.h"
#include "platform/system_mutex.h"
#include "platform/system_rwlock.h"
#include "platform/system_waits.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "platform/topology.h"
#include "profile/locks.h"
#include "profile/meetings.h"
#include "profile/start.h"
#include "registry/all_names.h"
#include "registry/keep_glibcs.h"
#include "registry/mutexes.h"
#include "registry/policy_ops.h"
#include "registry/range_locks.h"
#include "registry/rwlocks.h"
#include "report/report.h"
#include "stats/policy_catches.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

constinit Config config{};

// What the start has chosen, which is then installed one pointer at a time. A child that is forked
// during that may already have locks in use, so it only repeats the installation.
struct Chosen {
  Functions functions;
  WaitOps waits;
  NativeAtomic<bool> is_whole{false};
};
constinit Chosen chosen{};
constinit WaitOps system_waits{};

bool swaps_rwlocks() noexcept {
  if (config.policy != nullptr) return config.policy->swaps(ObjectKind::rwlock);
  return !rwlock_of(config).passes_through();
}

Swapped swapped() noexcept { return {swaps_rwlocks(), swaps_mutexes(config), swaps_conds(config)}; }

// Puts the profile in front of the chosen functions.
void begin_profile(RwOps& rwlock, MutexChoice& choice, WaitOps& waits) noexcept {
  static constinit MutexOps mutex{};
  static constinit CondOps cond{};
  static constinit CondOps old_cond{};
  Looks::prepare();
  if (!profile::begin(profile_folder(), module_functions()))
    return say_no_file("LOCKSWAP_PROFILE: nothing is recorded, because", profile_folder());
  rwlock = profile::over_rwlock(rwlock);
  waits = profile::over_waits(waits);
  mutex = profile::over_mutex(*choice.mutex);
  cond = profile::over_cond(*choice.cond);
  old_cond = profile::over_old_cond(*choice.old_cond);
  profile::calibrate(mutex, *choice.mutex);
  choice.mutex = &mutex;
  choice.cond = &cond;
  choice.old_cond = &old_cond;
  if (config.stats != nullptr) reset_stats();
}

// Puts delays in front of the chosen functions.
void begin_delays(const Delay& delay, RwOps& rwlock, MutexChoice& choice) noexcept {
  static constinit MutexOps mutex{};
  if (!delayed::begin(delay))
    refuse("lockswap: LOCKSWAP_DELAY: no memory for its table; raise the limit (ulimit -v)");
  rwlock = delayed::over_rwlock(rwlock);
  mutex = delayed::over_mutex(*choice.mutex);
  choice.mutex = &mutex;
}

void activate() noexcept {
  active_rwlock = chosen.functions.rwlock;
  // Condition variables first, because a mutex of ours must not be used with glibc's condition
  // variables.
  active_old_cond = chosen.functions.old_cond;
  active_cond = chosen.functions.cond;
  active_mutex = chosen.functions.mutex;
  active_waits = chosen.waits;
}

void choose() noexcept {
  static constinit char message[2048];
  config = Config{};
  resolve_real_waits(system_waits);
  if (resolve_first_copy(chosen.functions)) {
    chosen.waits = system_waits;
    prepare_range(config);  // the first copy has this too, and its symbols come first
    return;
  }
  if (!read_config(config, all_names(), message, sizeof message)) refuse(message);
  if (const char* name = resolve_real_symbols(); name != nullptr) {
    Text(message, sizeof message) << "lockswap: this C library has no " << name
                                  << "; glibc " LOCKSWAP_OLDEST_GLIBC " or newer is needed";
    refuse(message);
  }
  resolve_real_waits(system_waits);  // again: before glibc 2.34 they may have come with libpthread
  // Make the system calls now: the program may install a filter later.
  Process::stamp();
  Alone::prepare(find_single_threaded());
  find_in_libc = [](const char* name) { return find_symbol_from(first_object(), name, nullptr); };
  resolve_auto(config);
  if (!keep_glibcs_where_unknown(config, message, sizeof message)) refuse(message);
  // Also the thread's id, which glibc's mutexes show if their layout is known.
  ThreadExit::prepare();
  if (config.policy != nullptr) {
    prepare_modules();
    find_rule = first_rule_met;
  }
  const char* why = nullptr;
  const RwOps* ops = prepare_rwlock(config, why);
  MutexChoice choice{};
  if (ops == nullptr || !prepare_mutex(config, choice, why)) {
    Text(message, sizeof message) << "lockswap: " << why;
    refuse(message);
  }
  if (why = prepare_range(config); why != nullptr) {
    Text(message, sizeof message) << "lockswap: LOCKSWAP_RANGE: " << why;
    refuse(message);
  }
  publish_choice(config, swaps_rwlocks());
  if (config.verbose) announce(config, swaps_rwlocks());
  RwOps rwlock = *ops;
  WaitOps& waits = chosen.waits;
  waits = system_waits;
  if (profile_folder() != nullptr) begin_profile(rwlock, choice, waits);
  if (delay() != nullptr) begin_delays(*delay(), rwlock, choice);
  if (metrics_folder() != nullptr) begin_metrics(config, rwlock, choice);
  if (calls_folder() != nullptr) begin_calls(rwlock, choice);
  chosen.functions = {rwlock, *choice.mutex, *choice.cond, *choice.old_cond};
}

void start() noexcept {
  if (!chosen.is_whole.load(relaxed)) choose();  // relaxed, both: only forked children need it
  chosen.is_whole.store(true, relaxed);
  activate();
}

void in_forked_child() noexcept {
  Process::forked();
  thread_id();  // the fork's survivor must be known before there are other threads
  profile::forked();
  metrics::forked();
  calls::forked();
  delayed::forked();
  range_forked();
  if (config.stats != nullptr) {
    reset_stats();
    reset_catches();
  }
}

__attribute__((constructor)) void on_load() {
  started<start>();
  if (config.warns) warn_of_load_order(swapped());
  pthread_atfork(nullptr, nullptr, in_forked_child);
}

// Other threads may still run and use locks, so nothing is torn down.
__attribute__((destructor)) void on_exit() {
  profile::end();
  metrics::end();
  calls::end();
  if (delay() != nullptr && config.verbose) delayed::report();
  if (config.verbose) say_changed_processors();
  if (config.stats == nullptr && !config.verbose) return;
  static constinit Bypasses bypasses{};
  find_bypasses(bypasses, swapped());
  if (config.stats != nullptr) {
    report_stats(config, &bypasses);
  } else {
    report_bypasses(bypasses);
  }
}

}  // namespace

void ensure_started() noexcept { started<start>(); }

constinit RwOps active_rwlock = around<FirstCall<start, system_rwlock>, active_rwlock>;
constinit MutexOps active_mutex = around<FirstCall<start, system_mutex>, active_mutex>;
constinit CondOps active_cond = around<FirstCall<start, system_cond>, active_cond>;
constinit CondOps active_old_cond = around<FirstCall<start, system_old_cond>, active_old_cond>;
constinit WaitOps active_waits = around<FirstCall<start, system_waits>, active_waits>;

}  // namespace lockswap

extern "C" {
LOCKSWAP_EXPORTED void lockswap_write_stats();

// For programs that end without exit(), for signal handlers and debuggers. It is async-signal-safe,
// so it does not search for bypasses, which needs the loader's lock.
void lockswap_write_stats() {
  if (lockswap::config.stats != nullptr) lockswap::report_stats(lockswap::config, nullptr);
}
}
