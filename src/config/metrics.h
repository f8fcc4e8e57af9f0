// LOCKSWAP_METRICS and LOCKSWAP_METRICS_HOLDS, as read_config has found them. See profile_folder.h.
#pragma once

namespace lockswap {

// A copy, which stays when the environment does not; nullptr: nothing is counted.
const char* metrics_folder() noexcept;
// Whether holds are timed, too.
bool metrics_count_holds() noexcept;

}  // namespace lockswap
