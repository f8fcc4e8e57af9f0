// The configuration: every LOCKSWAP_* variable in one table, read once, before the first lock.
#pragma once

#include <cstdint>

#include "config/names.h"
#include "platform/topology.h"

namespace lockswap {

// A row of the table, for `lockswap list` and for error messages.
struct Option {
  const char* name;
  const char* type;
  const char* fallback;
  const char* help;
};

struct Options {
  const Option* rows;
  int count;
};
Options options() noexcept;

struct Policy;

// LOCKSWAP_COND.
enum class Conds : std::uint8_t {
  with_mutex,  // unset: ours with a mutex of ours, else glibc's
  own,         // ours, with any mutexes
  pthread,     // glibc's
};

struct Config {
  const char* rwlock = nullptr;    // a canonical name; nullptr: not set
  bool automatic = false;          // it was chosen for `auto` (rwlocks.h)
  const char* mutex = nullptr;     // as rwlock
  bool automatic_mutex = false;    // as automatic (mutexes.h)
  const Policy* policy = nullptr;  // which objects are swapped (policy.h); nullptr: all or none
  Conds cond = Conds::with_mutex;
  const char* wait = "park";
  std::uint32_t spin = 500;  // upper bound on pauses before parking
  std::uint32_t reader_patience_us = 20'000;
  std::uint32_t handover_us = 500;
  std::uint32_t bravo_slots = 4096;  // a power of two
  std::uint32_t bravo_n = 9;
  Pretence topology;
  std::uint32_t range = 0;             // a kind (range_locks.h); 0: not set
  std::uint32_t range_segment = 4096;  // units
  bool strict = false;                 // an unknown object layout ends the program
  // Why objects of this kind stay glibc's although another lock was chosen (keep_glibcs.h); nullptr
  // if they don't.
  struct {
    const char* rwlocks = nullptr;
    const char* mutexes = nullptr;
    const char* conds = nullptr;
  } kept;
  bool verbose = false;
  bool warns = true;  // unless LOCKSWAP_VERBOSE=0
  // nullptr: off; "": to stderr; otherwise the file's name, which outlives the environment.
  const char* stats = nullptr;
};

// Reads the environment. `names` has the names that it may contain. For an invalid value, returns
// false and writes one line to `message` that lists the valid ones (at most `size` bytes, always
// terminated). Does not allocate memory.
bool read_config(Config& config, const Names& names, char* message, std::uint32_t size) noexcept;

}  // namespace lockswap
