#include "registry/keep_glibcs.h"

#include "config/policy.h"
#include "platform/object_layout.h"
#include "platform/say.h"
#include "platform/text.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

// A kind of object, and what the user chose for it.
struct Chosen {
  const char* kind;
  const char* variable;
  const char* value;  // nullptr: the rules of a policy

  bool is_policy() const noexcept { return value == nullptr; }
};

void put(Text& out, const Chosen& chosen) noexcept {
  if (chosen.is_policy()) {
    out << "the rules of " << chosen.variable << " for " << chosen.kind;
  } else {
    out << chosen.variable << "=" << chosen.value;
  }
}

constexpr char kUnknown[] = " (lockswap doesn't know this layout: see docs/interposition.md)";

// Returns false if the configuration demands an error.
bool keep(const Config& config, const Chosen& chosen, const char* why, char* message,
          std::uint32_t size) noexcept {
  Text out(message, size);
  put(out << "lockswap: ", chosen);
  if (config.strict) {
    out << " cannot run here: glibc's " << why << kUnknown
        << "; try a newer lockswap, or choose pthread";
    return false;
  }
  out << (chosen.is_policy() ? " have" : " has") << " no effect: " << chosen.kind
      << " stay glibc's, because its " << why << kUnknown << "\n";
  if (config.warns) say(message);
  return true;
}

// Returns whether objects of that kind are handled in a way that needs their layout. A policy
// stores its decision in each object, even if that is for glibc.
bool changes_rwlocks(const Config& config) noexcept {
  if (config.policy != nullptr) return config.policy->has_rules_of(ObjectKind::rwlock);
  return rwlock_of(config).passed_to[0] != &system_rwlock;
}
bool changes_mutexes(const Config& config) noexcept {
  if (config.policy != nullptr) return config.policy->has_rules_of(ObjectKind::mutex);
  return swaps_mutexes(config);
}

bool keep_rwlocks(Config& config, char* message, std::uint32_t size) noexcept {
  if (!changes_rwlocks(config) || learn_rwlock_layout()) return true;
  const char* why = object_layout.rwlock.why;
  const Chosen chosen = config.policy != nullptr
                            ? Chosen{"reader-writer locks", "LOCKSWAP_POLICY", nullptr}
                            : Chosen{"reader-writer locks", "LOCKSWAP_RWLOCK", config.rwlock};
  if (!keep(config, chosen, why, message, size)) return false;
  config.kept.rwlocks = why;
  if (config.policy != nullptr) config.policy = policy_without(ObjectKind::rwlock);
  if (config.rwlock != nullptr) config.rwlock = find_rwlock("pthread")->name;
  config.automatic = false;
  return true;
}

// Both or none: glibc's condition variables can't release a mutex of ours, and ours count waiters
// in the bytes of glibc's mutexes.
bool keep_mutexes_and_conds(Config& config, char* message, std::uint32_t size) noexcept {
  const bool mutexes_are_known = learn_mutex_layout();  // also for threads' ids: system_tid.h
  const bool mutexes = changes_mutexes(config);
  if (!mutexes && !swaps_conds(config)) return true;
  if (mutexes_are_known && (!swaps_conds(config) || learn_cond_layout())) return true;
  const char* why = mutexes_are_known ? object_layout.cond.why : object_layout.mutex.why;
  const Chosen chosen =
      !mutexes ? Chosen{"condition variables", "LOCKSWAP_COND", "own"}
      : config.policy != nullptr
          ? Chosen{"mutexes and condition variables", "LOCKSWAP_POLICY", nullptr}
          : Chosen{"mutexes and condition variables", "LOCKSWAP_MUTEX", config.mutex};
  if (!keep(config, chosen, why, message, size)) return false;
  config.kept.conds = why;
  config.cond = Conds::pthread;
  if (!mutexes) return true;
  config.kept.mutexes = why;
  if (config.policy != nullptr) config.policy = policy_without(ObjectKind::mutex);
  if (config.mutex != nullptr) config.mutex = find_mutex("pthread")->name;
  config.automatic_mutex = false;
  return true;
}

}  // namespace

bool keep_glibcs_where_unknown(Config& config, char* message, std::uint32_t size) noexcept {
  return keep_mutexes_and_conds(config, message, size) && keep_rwlocks(config, message, size);
}

void put_kept(Text& out, const char* before, const Config& config, const char* behind) noexcept {
  const auto put_one = [&](const char* kind, const char* why) {
    if (why != nullptr) out << before << kind << " stay glibc's, because its " << why << behind;
  };
  put_one("reader-writer locks", config.kept.rwlocks);
  put_one("mutexes", config.kept.mutexes);
  put_one("condition variables", config.kept.conds);
}

}  // namespace lockswap
