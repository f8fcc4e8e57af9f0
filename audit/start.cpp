
#include "interpose/start.h"

#include <cstddef>

#include "audit/cond.h"
#include "audit/entry.h"
#include "audit/fork.h"
#include "audit/mutex.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/rwlock.h"
#include "audit/world.h"
#include "config/environment.h"
#include "interpose/bypasses.h"
#include "interpose/children.h"
#include "interpose/exports.h"
#include "interpose/first_call.h"
#include "interpose/module_functions.h"
#include "interpose/real_symbols.h"
#include "platform/alone.h"
#include "platform/atomic.h"
#include "platform/object_layout.h"
#include "platform/say.h"
#include "platform/text.h"
#include "platform/ticks.h"
#include "recording/file.h"
#include "recording/modules.h"

namespace lockswap::audit {
namespace {

// The audit reads glibc's bytes, so it records nothing about objects whose layout is unknown.
void leave_out(const char* kind, const Misfit& misfit) noexcept {
  static constinit char line[300];
  Text(line, sizeof line) << "lockswap audit: " << kind << " are not recorded, because glibc's "
                          << misfit.why << " (lockswap doesn't know this layout)\n";
  say(line);
  note(Finding::unknown_layout, {.lock = nullptr, .site = 0, .name = kind});
}

struct Known {
  bool rwlocks, mutexes, conds;
};
Known look_at_layouts() noexcept {
  const bool mutexes = learn_mutex_layout();
  return {learn_rwlock_layout(), mutexes, mutexes && learn_cond_layout()};
}

void record_what_is(const Known& known) noexcept {
  active_rwlock = system_rwlock;
  active_mutex = system_mutex;
  active_cond = system_cond;
  active_old_cond = system_old_cond;
  if (known.rwlocks) {
    active_rwlock = audited_rwlock;
  } else {
    leave_out("reader-writer locks", object_layout.rwlock);
  }
  if (!known.mutexes) {
    leave_out("mutexes and condition variables", object_layout.mutex);
  } else if (!known.conds) {
    active_mutex = audited_mutex;
    leave_out("condition variables", object_layout.cond);
  } else {
    active_mutex = audited_mutex;
    active_cond = audited_cond();
    active_old_cond = audited_old_cond;
  }
}

Known prepare() noexcept {
  if (const char* missing = resolve_real_symbols(); missing != nullptr) {
    char line[200];
    Text(line, sizeof line) << "lockswap audit: glibc " LOCKSWAP_OLDEST_GLIBC
                               " or newer is needed: this C library has no "
                            << missing;
    refuse(line);
  }
  const Known known = look_at_layouts();  // before a thread's id is needed (system_tid.h)
  recording::modules = module_functions();
  Alone::prepare(find_single_threaded());
  Ticks::calibrate();
  prepare_world();
  const char* const place = environment_value("LOCKSWAP_AUDIT");
  if (place != nullptr) log_children(place);
  if (!open_record(place)) {
    // A folder where no file can be made is no reason to stop a program that the audited one
    // started.
    say("lockswap audit: nothing is recorded, because this file can't be made: ");
    say(recording::file_name());
    say("\n");
  }
  return known;
}

// In a child that was forked after the first line, locks may be in use already (first_call.h).
void start() noexcept {
  static constinit Known known{};
  static constinit NativeAtomic<bool> is_prepared{false};
  if (!is_prepared.load(relaxed)) known = prepare();  // relaxed, both: only forked children need it
  is_prepared.store(true, relaxed);
  record_what_is(known);
}

__attribute__((constructor)) void on_load() {
  started<start>();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

__attribute__((destructor)) void on_exit() {
  note_left_call_at_exit(known_me(), __builtin_frame_address(0));
  note_times_of_open_holds();
  note_times_of_open_mutexes();
  static constinit Bypasses bypasses{};
  find_bypasses(bypasses, {});
  for (std::size_t i = 0; i < bypasses.count && i < Bypasses::kMost; ++i) {
    char name[300];
    Text(name, sizeof name) << bypasses.first[i].object << " (" << bypasses.first[i].how << ")";
    note(Finding::bound_elsewhere, {.lock = nullptr, .site = 0, .name = name});
  }
  close_record();
}

}  // namespace
}  // namespace lockswap::audit

namespace lockswap {

void ensure_started() noexcept { started<audit::start>(); }

constinit RwOps active_rwlock = around<FirstCall<audit::start, system_rwlock>, active_rwlock>;
constinit MutexOps active_mutex = around<FirstCall<audit::start, system_mutex>, active_mutex>;
constinit CondOps active_cond = around<FirstCall<audit::start, system_cond>, active_cond>;
constinit CondOps active_old_cond =
    around<FirstCall<audit::start, system_old_cond>, active_old_cond>;

}  // namespace lockswap
