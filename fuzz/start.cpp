#include "interpose/start.h"

#include <cstdint>
#include <cstring>

#include "config/environment.h"
#include "fuzz/conds.h"
#include "fuzz/disturb.h"
#include "fuzz/live.h"
#include "fuzz/serial.h"
#include "fuzz/serial_tables.h"
#include "fuzz/tables.h"
#include "interpose/children.h"
#include "interpose/exports.h"
#include "interpose/first_call.h"
#include "interpose/module_functions.h"
#include "interpose/real_symbols.h"
#include "platform/looks.h"
#include "platform/object_layout.h"
#include "platform/say.h"
#include "platform/text.h"
#include "recording/modules.h"

namespace lockswap::fuzz {
namespace {

constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

// Returns the number at `p`, and moves `p` after it.
std::uint64_t number(const char*& p) noexcept {
  if (*p < '0' || *p > '9') return kNoNumber;
  std::uint64_t n = 0;
  for (; *p >= '0' && *p <= '9'; ++p) {
    if (n > (kNoNumber - 10) / 10) return kNoNumber;
    n = n * 10 + static_cast<unsigned>(*p - '0');
  }
  return n;
}
bool skip(const char*& p, const char* word) noexcept {
  const std::size_t n = std::strlen(word);
  if (std::strncmp(p, word, n) != 0) return false;
  p += n;
  return true;
}

// Copies the file name at `p`, and moves `p` after it.
bool read_name(const char*& p, char* name, std::size_t size) noexcept {
  std::size_t n = 0;
  for (; *p != 0 && *p != ','; ++p) {
    if (n + 1 == size) return false;
    name[n++] = *p;
  }
  name[n] = 0;
  return n != 0;
}

constinit char live_file[512] = "", log_file[512] = "", schedule_file[512] = "";

const char* or_none(const char* name) noexcept { return name[0] != 0 ? name : nullptr; }

// SEED[,percent=N][,delay=US][,budget=MS][,spurious][,no-turns][,turn=MS][,live=FILE]
//     [,serial[,steps=FILE][,schedule=FILE][,length=POINTS]][,trace=FILE]
bool read(const char* p) noexcept {
  settings.seed = number(p);
  if (settings.seed == kNoNumber) return false;
  while (*p != 0) {
    if (skip(p, ",trace=")) return trace_to(p);  // must be last: a file's name may have commas
    std::uint64_t n = 0;
    if (skip(p, ",spurious")) {
      settings.spurious = true;
    } else if (skip(p, ",no-turns")) {
      settings.turns = false;
    } else if (skip(p, ",turn=") && (n = number(p)) >= 1 && n <= 1'000'000) {
      settings.turn_ms = static_cast<std::uint32_t>(n);
    } else if (skip(p, ",percent=") && (n = number(p)) >= 1 && n <= 100) {
      settings.percent = static_cast<std::uint32_t>(n);
    } else if (skip(p, ",delay=") && (n = number(p)) >= 1 && n <= 1'000'000) {
      settings.longest_us = static_cast<std::uint32_t>(n);
    } else if (skip(p, ",budget=") && (n = number(p)) >= 1 && n <= 1'000'000) {
      settings.budget_ms = static_cast<std::uint32_t>(n);
    } else if (skip(p, ",serial")) {
      settings.serial = true;
    } else if (skip(p, ",length=") && (n = number(p)) >= 1 && n <= 1'000'000'000) {
      settings.length = static_cast<std::uint32_t>(n);
    } else if ((skip(p, ",steps=") && read_name(p, log_file, sizeof log_file)) ||
               (skip(p, ",schedule=") && read_name(p, schedule_file, sizeof schedule_file)) ||
               (skip(p, ",live=") && read_name(p, live_file, sizeof live_file))) {
      continue;
    } else {
      return false;
    }
  }
  return true;
}

void run_one_at_a_time() noexcept {
  // Waits are recognised in the objects before they happen.
  if (!Looks::are_known() || !learn_cond_layout())
    refuse(
        "lockswap fuzz: locks of this C library have an unknown layout, so threads can't run one "
        "at a time; drop ',serial'");
  if (!serial::prepare(or_none(log_file), or_none(schedule_file)))
    refuse("lockswap fuzz: the file of ',schedule=' can't be read as a schedule");
  active_rwlock = serial_rwlock;
  active_mutex = serial_mutex;
  active_cond = serial_cond;
  active_old_cond = system_old_cond;
}

void start() noexcept {
  if (const char* missing = resolve_real_symbols(); missing != nullptr) {
    char line[200];
    Text(line, sizeof line) << "lockswap fuzz: glibc " LOCKSWAP_OLDEST_GLIBC
                               " or newer is needed: this C library has no "
                            << missing;
    refuse(line);
  }
  const char* value = environment_value("LOCKSWAP_FUZZ");
  if (value == nullptr) {
    active_rwlock = system_rwlock;
    active_mutex = system_mutex;
    active_cond = system_cond;
    active_old_cond = system_old_cond;
    return;
  }
  if (!read(value)) {
    char line[400];
    Text(line, sizeof line)
        << "lockswap: LOCKSWAP_FUZZ='" << value
        << "' is not SEED[,percent=1..100][,delay=1..1000000][,budget=1..1000000][,spurious]"
           "[,no-turns][,turn=1..1000000][,live=FILE][,trace=FILE], with a file that can be "
           "written";
    refuse(line);
  }
  recording::modules = module_functions();
  if (live_file[0] != 0) {
    prepare_slots(live_file);
    log_children(live_file);
  }
  Looks::prepare();  // also finds mutexes' layout, for thread ids: system_tid.h
  if (settings.serial) {
    run_one_at_a_time();
    return;
  }
  active_rwlock = disturbed_rwlock;
  active_mutex = disturbed_mutex;
  const bool chooses = chooses_turns(settings) && prepare_conds();
  if (object_layout.cond.found()) {
    char line[300];
    Text(line, sizeof line)
        << "lockswap fuzz: the seed doesn't choose which waiter a signal wakes, because glibc's "
        << object_layout.cond.why << " (lockswap doesn't know this layout)\n";
    say(line);
  }
  active_cond = chooses ? disturbed_chosen_cond : disturbed_cond;
  active_old_cond = disturbed_old_cond;
}

__attribute__((constructor)) void on_load() { started<start>(); }

}  // namespace
}  // namespace lockswap::fuzz

namespace lockswap {

void ensure_started() noexcept { started<fuzz::start>(); }

constinit RwOps active_rwlock = around<FirstCall<fuzz::start, system_rwlock>, active_rwlock>;
constinit MutexOps active_mutex = around<FirstCall<fuzz::start, system_mutex>, active_mutex>;
constinit CondOps active_cond = around<FirstCall<fuzz::start, system_cond>, active_cond>;
constinit CondOps active_old_cond =
    around<FirstCall<fuzz::start, system_old_cond>, active_old_cond>;

}  // namespace lockswap
