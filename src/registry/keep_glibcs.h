// Leaves objects to the C library if their layout is unknown, whatever was chosen.
#pragma once

#include <cstdint>

#include "config/config.h"

namespace lockswap {

// Checks the layout of each kind of object that the configuration swaps, and of no other. If one is
// unknown, changes the configuration so that this kind stays glibc's, stores the reason in
// Config::kept, and prints it on stderr unless LOCKSWAP_VERBOSE=0. With LOCKSWAP_STRICT this is an
// error: returns false, with the reason in `message` (at most `size` bytes).
//
// Must be called once at start-up, when `auto` is resolved and no object has been swapped.
bool keep_glibcs_where_unknown(Config& config, char* message, std::uint32_t size) noexcept;

// Appends a sentence for each kind of object that stays glibc's for that reason.
class Text;
void put_kept(Text& out, const char* before, const Config& config, const char* behind) noexcept;

}  // namespace lockswap
