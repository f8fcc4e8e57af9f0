// What this library does in this process, for observers outside: `lockswap doctor` reads it and
// `lockswap off` sets the switch, both through /proc/PID/mem. They find it by its symbol.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "platform/atomic.h"
#include "platform/text.h"

namespace lockswap {

// Called once at start-up. Publishes what was chosen, in words. The other members are valid from
// the beginning.
void publish_choice(const Config& config, bool swaps_rwlocks) noexcept;

// Prints the same words, and how many processors the waits assume, for LOCKSWAP_VERBOSE=1.
void announce(const Config& config, bool swaps_rwlocks) noexcept;
// Prints what was read at start-up, if it has changed since.
void say_changed_processors() noexcept;

}  // namespace lockswap
