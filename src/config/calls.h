// LOCKSWAP_RECORD and what bounds it, as read_config has found them. See profile_folder.h.
#pragma once

#include <cstdint>

namespace lockswap {

// A copy, which stays when the environment does not; nullptr: nothing is recorded.
const char* calls_folder() noexcept;
std::uint32_t calls_megabytes() noexcept;
std::uint32_t calls_after_ms() noexcept;

}  // namespace lockswap
