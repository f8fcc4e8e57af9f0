// The functions that this library stands before: glibc's, or those of the next library in line.
#pragma once

namespace lockswap {

// Fills in system_rwlock, all of it at once: looking a symbol up inside a lock call could meet the
// loader's lock. Returns the name of a function that does not exist, or nullptr.
const char* resolve_real_symbols() noexcept;

}  // namespace lockswap
