// LOCKSWAP_PROFILE as read by read_config. Separate from Config, which the code of all locks
// includes.
#pragma once

namespace lockswap {

// Returns a copy that outlives the environment, or nullptr if there is to be no profile.
const char* profile_folder() noexcept;

}  // namespace lockswap
