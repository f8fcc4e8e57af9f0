// What runs in this process, for who looks at it from outside: `lockswap doctor` reads it, and
// `lockswap off` turns the switch, both by /proc/PID/mem. They find it by its symbol.
#pragma once

#include <cstdint>

#include "config/config.h"
#include "platform/atomic.h"
#include "platform/text.h"

namespace lockswap {

// At start-up, by one thread: what was chosen, in words. The other parts are there from the
// beginning.
void publish_choice(const Config& config, bool swaps_rwlocks) noexcept;

// The same words, with how many processors the waits go by, as LOCKSWAP_VERBOSE=1 prints them.
void announce(const Config& config, bool swaps_rwlocks) noexcept;
// What was read at start-up, if something else was found since.
void say_changed_processors() noexcept;

}  // namespace lockswap
