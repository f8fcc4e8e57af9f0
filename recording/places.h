// From an address of this process to a place in the file; the module is noted there.
#pragma once

#include <cstdint>

#include "platform/guard.h"
#include "recording/head.h"

namespace lockswap::recording {

// The guard is that of the head's modules.
Place place_of_code(Head& head, Guard& guard, std::uint64_t return_address) noexcept;
Place place_of_data(Head& head, Guard& guard, std::uint64_t address) noexcept;

}  // namespace lockswap::recording
