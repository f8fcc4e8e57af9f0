// Converts an address of this process to a place, and stores its module in the file.
#pragma once

#include <cstdint>

#include "platform/guard.h"
#include "recording/head.h"

namespace lockswap::recording {

// The guard must protect the head's modules.
Place place_of_code(Head& head, Guard& guard, std::uint64_t return_address) noexcept;
Place place_of_data(Head& head, Guard& guard, std::uint64_t address) noexcept;

}  // namespace lockswap::recording
