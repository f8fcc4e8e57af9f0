// LOCKSWAP_RECORD and its bounds as read by read_config. See profile_folder.h.
#pragma once

#include <cstdint>

namespace lockswap {

// Returns a copy that outlives the environment, or nullptr if nothing is to be recorded.
const char* calls_folder() noexcept;
std::uint32_t calls_megabytes() noexcept;
std::uint32_t calls_after_ms() noexcept;

}  // namespace lockswap
