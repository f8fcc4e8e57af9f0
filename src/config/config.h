// The configuration: every LOCKSWAP_* variable in one table, read once, before the first lock.
#pragma once

#include <cstdint>

#include "config/names.h"
#include "platform/topology.h"

namespace lockswap {

// One row of the table, for `lockswap list` and for error messages.
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
  own,         // ours, with whichever mutexes
  pthread,     // glibc's
};

struct Config {
  const char* rwlock = nullptr;    // a canonical name; nullptr = nothing was asked for
  bool automatic = false;          // it was chosen for `auto` (rwlocks.h)
  const char* mutex = nullptr;     // as rwlock
  bool automatic_mutex = false;    // as automatic (mutexes.h)
  const Policy* policy = nullptr;  // which objects are swapped (policy.h); nullptr: all or none
  Conds cond = Conds::with_mutex;
  const char* wait = "park";
  std::uint32_t spin = 500;  // most pauses before parking
  std::uint32_t reader_patience_us = 20'000;
  std::uint32_t handover_us = 500;
  std::uint32_t bravo_slots = 4096;  // a power of two
  std::uint32_t bravo_n = 9;
  Pretence topology;
  std::uint32_t range = 0;             // a kind (range_locks.h); 0 = nothing was asked for
  std::uint32_t range_segment = 4096;  // units
  bool strict = false;                 // an object's layout that is unknown ends the program
  // Why glibc keeps objects of a kind that others were chosen for (keep_glibcs.h); nullptr if it
  // doesn't.
  struct {
    const char* rwlocks = nullptr;
    const char* mutexes = nullptr;
    const char* conds = nullptr;
  } kept;
  bool verbose = false;
  bool warns = true;  // unless LOCKSWAP_VERBOSE=0 says no
  // nullptr = off, "" = to stderr, else the file's name, which stays when the environment does not.
  const char* stats = nullptr;
};

// Reads the environment, where locks have these names. On a wrong value writes one line that lists
// what is valid to `message` (at most `size` bytes, always terminated) and returns false. Does not
// allocate.
bool read_config(Config& config, const Names& names, char* message, std::uint32_t size) noexcept;

}  // namespace lockswap
