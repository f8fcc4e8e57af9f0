// From an address to the file that is mapped there, by /proc/self/maps.
#pragma once

#include <cstdint>

#include "audit/record.h"

namespace lockswap::audit {

// Some microseconds. Async-signal-safe, some 1 KB of stack. Where /proc is missing, or no file is
// mapped there, only the address is filled in.
void locate(std::uint64_t address, Place& into) noexcept;

}  // namespace lockswap::audit
