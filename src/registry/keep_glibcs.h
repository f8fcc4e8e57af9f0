// Leaves objects whose layout this library doesn't know to the C library, whatever was chosen.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace lockswap {

// Looks at the layout of each kind of object that the configuration swaps, and of no other. Where
// one is unknown, the configuration becomes the one that leaves that kind to glibc, Config::kept
// says why, and a line on stderr says so, unless LOCKSWAP_VERBOSE=0 forbids it. Under
// LOCKSWAP_STRICT that is an error: returns false, and `message` (at most `size` bytes) says why.
//
// To be called once, at start-up, when `auto` is resolved and no object is swapped.
bool keep_glibcs_where_unknown(Config& config, char* message, std::uint32_t size) noexcept;

// A sentence for each kind of object that stays glibc's for that reason; none if there is none.
class Text;
void put_kept(Text& out, const char* before, const Config& config, const char* behind) noexcept;

}  // namespace lockswap
