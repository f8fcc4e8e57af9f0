#include "interpose/what_runs.h"

#include "config/auto.h"
#include "config/policy.h"
#include "interpose/exports.h"
#include "platform/kill_switch.h"
#include "platform/object_layout.h"
#include "platform/processors.h"
#include "platform/rereading.h"
#include "platform/say.h"
#include "platform/syscall.h"
#include "registry/keep_glibcs.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

constinit char choice[1024] = "";

// harness/lockswap/doctor/asked.py reads this in this order.
struct WhatRuns {
  std::uint32_t version = 1;  // of this structure
  std::uint32_t size = sizeof(WhatRuns);
  const char* choice;  // empty before the start, and in a second copy of the library
  NativeAtomic<std::uint32_t>* off_since;
};

// "2 processors", "2 processors (50 % of one by quota)"
void put_processors(Text& text, const Processors& p) noexcept {
  text << std::uint64_t{p.allowed} << (p.allowed == 1 ? " processor" : " processors");
  if (p.quota_percent != kNoQuota) text << " (" << p.quota_percent << " % of one by quota)";
}

void put_rwlock(Text& text, const Config& config) noexcept {
  if (config.policy != nullptr) {
    text << "policy of " << static_cast<std::uint64_t>(config.policy->count)
         << (config.policy->count == 1 ? " rule" : " rules");
  } else {
    text << "rwlock " << rwlock_of(config).name
         << (config.rwlock == nullptr ? " (nothing chosen)" : "")
         << (config.automatic ? " (auto)" : "");
  }
}

void put_rest(Text& text, const Config& config) noexcept {
  if (rwlock_of(config).biased) {
    text << ", " << config.bravo_slots << " slots, N " << config.bravo_n;
  }
  if (config.mutex != nullptr) {
    text << ", mutex " << config.mutex << (config.automatic_mutex ? " (auto)" : "");
  }
  if (config.cond != Conds::with_mutex) {
    text << ", cond " << (config.cond == Conds::own ? "own" : "pthread");
  }
  if (swaps_conds(config)) {
    text << ", pthread_cond_t flags at byte " << std::uint64_t{byte_of(object_layout.cond_flags)};
  }
  put_kept(text, ", ", config, "");
}

void put_choice(Text& text, const Config& config, bool swaps_rwlocks, bool with_processors) {
  put_rwlock(text << "lockswap " LOCKSWAP_VERSION ": ", config);
  if (swaps_rwlocks || swaps_mutexes(config)) {
    text << ", wait " << config.wait;
    if (with_processors && config.spin != 0) {
      put_processors(text << " on ", processors_at_start(true));
    }
  }
  put_rest(text, config);
}

}  // namespace

void publish_choice(const Config& config, bool swaps_rwlocks) noexcept {
  Text text(choice, sizeof choice);
  put_choice(text, config, swaps_rwlocks, false);
}

void announce(const Config& config, bool swaps_rwlocks) noexcept {
  char line[1024];
  Text text(line, sizeof line);
  put_choice(text, config, swaps_rwlocks, true);
  if (config.automatic) put_auto_reason(text << ", auto as ", kAutoRwlock);
  if (config.automatic_mutex) put_auto_reason(text << ", mutex auto as ", kAutoMutex);
  text << ", pid " << static_cast<std::uint64_t>(raw_syscall(SYS_getpid)) << "\n";
  say(line);
}

void say_changed_processors() noexcept {
  Processors now;
  if (!Rereading::is_prepared() || !Rereading::known(now) || now == processors_at_start(true)) {
    return;
  }
  char line[160];
  Text text(line, sizeof line);
  put_processors(text << "lockswap: at the end ", now);
  put_processors(text << "; at the start ", processors_at_start(true));
  text << "\n";
  say(line);
}

}  // namespace lockswap

extern "C" {
LOCKSWAP_EXPORTED extern const lockswap::WhatRuns lockswap_what_runs;
constinit const lockswap::WhatRuns lockswap_what_runs{.choice = lockswap::choice,
                                                      .off_since = &lockswap::KillSwitch::since};
}
