// LOCKSWAP_METRICS and LOCKSWAP_METRICS_HOLDS as read by read_config. See profile_folder.h.
#pragma once

namespace lockswap {

// Returns a copy that outlives the environment, or nullptr if nothing is to be counted.
const char* metrics_folder() noexcept;
// Returns whether holds are timed, too.
bool metrics_count_holds() noexcept;

}  // namespace lockswap
