// Prints the registry as JSON: what `lockswap list` and the harness know comes from here.

#include <cstdio>

#include "registry/config.h"
#include "registry/mutexes.h"
#include "registry/range_locks.h"
#include "registry/rwlocks.h"
#include "registry/text.h"

namespace {

void string(const char* s) {
  std::putchar('"');
  for (; *s != 0; ++s) {
    if (*s == '"' || *s == '\\') std::putchar('\\');
    std::putchar(*s);
  }
  std::putchar('"');
}

void field(const char* name, const char* value, const char* before = ",") {
  std::printf("%s\"%s\":", before, name);
  string(value);
}

void aliases_of(const char* const* aliases) {
  std::printf(",\"aliases\":[");
  for (const char* const* a = aliases; *a != nullptr; ++a) {
    if (a != aliases) std::putchar(',');
    string(*a);
  }
  std::printf("]");
}

}  // namespace

int main() {
  using namespace lockswap;
  Config config;
  char message[2048];
  // For LOCKSWAP_TOPOLOGY. What else is wrong is for the library to say.
  if (!read_config(config, message, sizeof message)) config.topology = {};
  std::printf("{\"schema\":1,\"version\":\"%s\",\n\"rwlocks\":[", LOCKSWAP_VERSION);
  for (int i = 0; i < rwlocks().count; ++i) {
    const RwLockInfo& lock = rwlocks().rows[i];
    field("name", lock.name, i == 0 ? "\n{" : ",\n{");
    aliases_of(lock.aliases);
    char summary[256];
    Text text(summary, sizeof summary);
    text << lock.summary;
    if (same_name(lock.name, "auto")) text << "; here " << auto_rwlock(config);
    field("summary", summary);
    field("source", lock.source);
    field("fairness", lock.fairness);
    std::printf(",\"footprint_bytes\":%zu", footprint_of(lock, config));
    // rw_contract.h adds the last two to every lock of ours, and glibc's default kind has them.
    std::printf(",\"capabilities\":[\"try\",\"timed\"%s,\"foreign-release\"]",
                same_name(lock.name, "pthread-wp") ? "" : ",\"recursive-read\"");
    field("kinds", lock.kinds);
    // What exploration holds the lock to: locks/common/claims.h.
    std::printf(",\"claims\":[%s%s%s]", lock.claims.phase_fair ? "\"phase-fair\"" : "",
                lock.claims.phase_fair && lock.claims.fifo_writers ? "," : "",
                lock.claims.fifo_writers ? "\"fifo-writers\"" : "");
    std::printf("}");
  }
  std::printf("],\n\"mutexes\":[");
  for (int i = 0; i < mutexes().count; ++i) {
    const MutexInfo& mutex = mutexes().rows[i];
    field("name", mutex.name, i == 0 ? "\n{" : ",\n{");
    aliases_of(mutex.aliases);
    char summary[256];
    Text text(summary, sizeof summary);
    text << mutex.summary;
    if (same_name(mutex.name, "auto")) text << "; here " << auto_mutex(config);
    field("summary", summary);
    field("source", mutex.source);
    field("fairness", mutex.fairness);
    std::printf(",\"footprint_bytes\":%zu}", footprint_of(mutex, config));
  }
  std::printf("],\n\"waits\":[");
  for (int i = 0; i < waits().count; ++i) {
    field("name", waits().rows[i].name, i == 0 ? "\n{" : ",\n{");
    field("summary", waits().rows[i].summary);
    std::printf("}");
  }
  std::printf("],\n\"range_locks\":[");
  for (int i = 0; i < range_locks().count; ++i) {
    const RangeLockInfo& lock = range_locks().rows[i];
    field("name", lock.name, i == 0 ? "\n{" : ",\n{");
    field("summary", lock.summary);
    field("source", lock.source);
    field("fairness", lock.fairness);
    std::printf(",\"of_rwlocks\":%s}", lock.of_rwlocks ? "true" : "false");
  }
  std::printf("],\n\"config\":[");
  for (int i = 0; i < options().count; ++i) {
    const Option& o = options().rows[i];
    field("name", o.name, i == 0 ? "\n{" : ",\n{");
    field("type", o.type);
    field("default", o.fallback);
    field("help", o.help);
    std::printf("}");
  }
  std::printf("]}\n");
  return 0;
}
