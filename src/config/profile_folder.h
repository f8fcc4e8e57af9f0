// LOCKSWAP_PROFILE, as read_config has found it. Apart from Config, which all locks' code includes.
#pragma once

namespace lockswap {

// A copy, which stays when the environment does not; nullptr if no profile is asked for.
const char* profile_folder() noexcept;

}  // namespace lockswap
