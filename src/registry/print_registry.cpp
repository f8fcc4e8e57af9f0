// Prints the registry as JSON, from which `lockswap list` and the harness learn it.

#include <cstdio>

#include "config/auto.h"
#include "config/config.h"
#include "config/left_out.h"
#include "platform/text.h"
#include "registry/all_names.h"
#include "registry/mutexes.h"
#include "registry/range_locks.h"
#include "registry/rwlocks.h"

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

void flag(const char* name, bool value) {
  std::printf(",\"%s\":%s", name, value ? "true" : "false");
}
void number(const char* name, std::size_t value) { std::printf(",\"%s\":%zu", name, value); }

void field_or_null(const char* name, const char* value) {
  if (value != nullptr) {
    field(name, value);
  } else {
    std::printf(",\"%s\":null", name);
  }
}

void list(const char* name, const char* const* values) {
  std::printf(",\"%s\":[", name);
  for (const char* const* v = values; *v != nullptr; ++v) {
    if (v != values) std::putchar(',');
    string(*v);
  }
  std::printf("]");
}

// A field whose value put() appends.
template <class Put>
void field_of(const char* name, const Put& put) {
  char value[512];
  lockswap::Text text(value, sizeof value);
  put(text);
  field(name, value);
}

// The lock's own description, with what its form and the contract around it add.
void put_summary(lockswap::Text& text, const lockswap::RwLockInfo& lock) {
  if (!lock.biased) {
    text << lock.info.summary;
  } else if (lockswap::after_prefix(lock.name, "bravo-asym-") == nullptr) {
    text << "BRAVO reader bias over " << lock.under;
  } else {
    text << "bravo-" << lock.under
         << " whose readers make no update; each revocation has the kernel run a barrier";
  }
}
void put_fairness(lockswap::Text& text, const lockswap::RwLockInfo& lock) {
  if (lock.biased) text << "biased readers go first; the others: ";
  text << lock.info.fairness;
  // The contract lets such readers in, whatever the lock is (posix/guests.h).
  if (lock.code != nullptr) text << "; unless readers waited for longer than their patience";
}
void put_summary(lockswap::Text& text, const lockswap::MutexInfo& mutex) {
  text << mutex.info.summary;
}
void put_fairness(lockswap::Text& text, const lockswap::MutexInfo& mutex) {
  text << mutex.info.fairness;
}

// What `auto` may choose, why, and what it chooses here.
void put_choice(lockswap::Text& text, const lockswap::AutoChoice& choice, const char* here) {
  text << ": " << choice.one_cpu;
  if (!lockswap::same_name(choice.one_cpu, choice.several_cpus))
    text << " on one CPU, " << choice.several_cpus << " on several";
  put_auto_reason(text << "; ", choice);
  text << "; here " << here;
}

// The fields that rwlocks and mutexes have in common.
template <class Info>
void print_common(const Info& lock, const lockswap::Config& config,
                  const lockswap::AutoChoice& automatic) {
  list("aliases", lock.info.aliases);
  field_of("summary", [&](lockswap::Text& text) {
    put_summary(text, lock);
    if (lock.chosen != nullptr) put_choice(text, automatic, lock.chosen(config));
  });
  field("source", lock.info.source);
  field_of("fairness", [&](lockswap::Text& text) { put_fairness(text, lock); });
  number("footprint_bytes", footprint_of(lock, config));
  field_or_null("chosen", lock.chosen != nullptr ? lock.chosen(config) : nullptr);
  flag("passes_through", lock.passes_through());
  flag("hands_off", lock.hands_off());
  flag("takes_back", lock.info.takes_back);
  flag("has_block", lock.block_bytes != nullptr);
  flag("compared_by_default", lock.compared_by_default);
  // As LockInfo's; 0: none.
  number("most_instructions", lock.info.instructions);
  number("most_write_instructions", lock.info.write_instructions);
}

void print(const lockswap::RwLockInfo& lock, const lockswap::Config& config) {
  print_common(lock, config, lockswap::kAutoRwlock);
  flag("biased", lock.biased);
  flag("asymmetric", lock.asymmetric);
  flag("readers_overtake", lock.info.readers_overtake);
  flag("writers_can_starve", lock.info.writers_can_starve);
  field_or_null("under", lock.under);
  // rw_contract.h adds the last two to every lock of ours, and glibc's default kind has them.
  const char* const with[] = {"try", "timed", "recursive-read", "foreign-release", nullptr};
  const char* const without[] = {"try", "timed", "foreign-release", nullptr};
  list("capabilities", lock.reads_recursively ? with : without);
  field("kinds", lock.info.kinds);
  // The promises that exploration checks: locks/common/claims.h.
  const char* claims[7] = {};
  int n = 0;
  if (lock.claims.phase_fair) claims[n++] = "phase-fair";
  if (lock.claims.fifo_writers) claims[n++] = "fifo-writers";
  if (lock.claims.fcfs_writers) claims[n++] = "fcfs-writers";
  if (lock.claims.readers_exclude) claims[n++] = "readers-exclude";
  if (lock.claims.sleepers_in_order) claims[n++] = "sleepers-in-order";
  if (lock.claims.sleeping_readers_next) claims[n++] = "sleeping-readers-next";
  list("claims", claims);
}

void print(const lockswap::MutexInfo& mutex, const lockswap::Config& config) {
  print_common(mutex, config, lockswap::kAutoMutex);
  flag("biased", false);
  flag("asymmetric", false);
  field_or_null("under", nullptr);
  field_or_null("same_code_as", mutex.same_code_as);
}

void print(const lockswap::WaitInfo& wait, const lockswap::Config&) {
  field("summary", wait.summary);
}

void print(const lockswap::RangeLockInfo& lock, const lockswap::Config&) {
  field("summary", lock.summary);
  field("source", lock.source);
  field("fairness", lock.fairness);
  flag("of_rwlocks", lock.of_rwlocks);
  const char* words[std::size(lockswap::kRangeWords) + 1] = {};
  int n = 0;
  for (const lockswap::RangeWord& word : lockswap::kRangeWords) {
    if (lock.takes.*word.option) words[n++] = word.name;
  }
  list("words", words);
}

void print(const lockswap::Option& option, const lockswap::Config&) {
  field("type", option.type);
  field("default", option.fallback);
  field("help", option.help);
}

template <class Table>
void print_all(const char* name, const Table& table, const lockswap::Config& config) {
  std::printf(",\n\"%s\":[", name);
  for (int i = 0; i < table.count; ++i) {
    field("name", table.rows[i].name, i == 0 ? "\n{" : ",\n{");
    print(table.rows[i], config);
    std::printf("}");
  }
  std::printf("]");
}

}  // namespace

int main() {
  using namespace lockswap;
  Config config;
  char message[2048];
  // For LOCKSWAP_TOPOLOGY. The library itself reports other errors.
  if (!read_config(config, all_names(), message, sizeof message)) config.topology = {};
  std::printf("{\"schema\":1,\"version\":\"%s\"", LOCKSWAP_VERSION);
  list("left_out", kLeftOut);
  print_all("rwlocks", rwlocks(), config);
  print_all("mutexes", mutexes(), config);
  print_all("waits", waits(), config);
  print_all("range_locks", range_locks(), config);
  print_all("config", options(), config);
  std::printf("}\n");
  return 0;
}
