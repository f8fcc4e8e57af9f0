// Finds the file that is mapped at an address, through /proc/self/maps.
#pragma once

#include <cstdint>

#include "audit/record.h"

namespace lockswap::audit {

// Takes some microseconds and some 1 KB of stack; async-signal-safe. Only fills in the address if
// /proc is missing, or if no file is mapped there.
void locate(std::uint64_t address, Place& into) noexcept;

}  // namespace lockswap::audit
