#include "audit/start.h"

#include <cstddef>
#include <cstring>

#include "audit/fork.h"
#include "audit/real.h"
#include "audit/report.h"
#include "audit/rwlock.h"
#include "audit/world.h"
#include "interpose/bypasses.h"
#include "interpose/first_call.h"
#include "interpose/real_symbols.h"
#include "interpose/start.h"
#include "platform/syscall.h"
#include "registry/environment.h"
#include "registry/text.h"

namespace lockswap::audit {
namespace {

void say(const char* line) noexcept {
  raw_syscall(SYS_write, 2, reinterpret_cast<long>(line), static_cast<long>(std::strlen(line)));
}

[[noreturn]] void refuse(const char* what, const char* why) noexcept {
  char line[4400];
  Text(line, sizeof line) << "lockswap audit: " << what << why << "\n";
  say(line);
  for (;;)
    raw_syscall(SYS_exit_group, 2);
}

void start() noexcept {
  const char* missing = resolve_other_symbols();
  if (missing == nullptr) missing = resolve_real_symbols();
  if (missing != nullptr) refuse("glibc 2.30 or newer is needed: this C library has no ", missing);
  prepare_world();
  static constinit char path[4200];
  if (!open_record(environment_value("LOCKSWAP_AUDIT"), path, sizeof path)) {
    // A forbidden place is no reason to stop a program that was started by the audited one.
    say("lockswap audit: nothing is recorded: cannot make ");
    say(path);
    say("\n");
  }
  active_rwlock = audited_rwlock;
  active_mutex = audited_mutex;
}

__attribute__((constructor)) void on_load() {
  started<start>();
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

__attribute__((destructor)) void on_exit() {
  known_me();
  static constinit Bypasses bypasses{};
  find_bypasses(bypasses, false);
  for (std::size_t i = 0; i < bypasses.count && i < Bypasses::kMost; ++i) {
    char name[300];
    Text(name, sizeof name) << bypasses.first[i].object << " (" << bypasses.first[i].how << ")";
    note(Finding::bound_elsewhere, {.lock = nullptr, .site = 0, .name = name});
  }
  close_record();
}

template <auto kMember>
constexpr auto kFirstRw = FirstCall<active_rwlock, kMember, start, EAGAIN>::call;

// Inside the start no other thread gets past it, and what this one locks there it unlocks there.
template <auto kMember>
constexpr auto kFirstMutex = FirstCall<active_mutex, kMember, start, 0>::call;

}  // namespace

bool ensure_started() noexcept { return started<start>(); }

constinit MutexOps active_mutex{
    kFirstMutex<&MutexOps::init>,      kFirstMutex<&MutexOps::destroy>,
    kFirstMutex<&MutexOps::lock>,      kFirstMutex<&MutexOps::trylock>,
    kFirstMutex<&MutexOps::timedlock>, kFirstMutex<&MutexOps::clocklock>,
    kFirstMutex<&MutexOps::unlock>,
};

}  // namespace lockswap::audit

namespace lockswap {

constinit RwOps active_rwlock{
    audit::kFirstRw<&RwOps::init>,        audit::kFirstRw<&RwOps::destroy>,
    audit::kFirstRw<&RwOps::rdlock>,      audit::kFirstRw<&RwOps::tryrdlock>,
    audit::kFirstRw<&RwOps::timedrdlock>, audit::kFirstRw<&RwOps::clockrdlock>,
    audit::kFirstRw<&RwOps::wrlock>,      audit::kFirstRw<&RwOps::trywrlock>,
    audit::kFirstRw<&RwOps::timedwrlock>, audit::kFirstRw<&RwOps::clockwrlock>,
    audit::kFirstRw<&RwOps::unlock>,
};

}  // namespace lockswap
