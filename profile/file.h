// The file of a profiled process, and memory in it.
#pragma once

#include <cstdint>

#include "profile/record.h"

namespace lockswap::profile {

// Files are FOLDER/<pid>.<n>.lockprof. Returns false if none can be made there; nothing is recorded
// then.
bool open_file(const char* folder) noexcept;
// Called in a forked child. Opens a new file in place of the parent's, which stays as it is.
bool reopen_file() noexcept;
void close_file() noexcept;

// nullptr until the file is open; then it stays where it is.
inline constinit Record* the_record = nullptr;
inline Record& record() noexcept { return *the_record; }

// Zeroed memory in the file; 0: it is used up. Under the world's guard.
std::uint32_t take_bytes(std::uint32_t bytes) noexcept;
// A new one in the file, of no thread yet; nullptr if it is used up. Under the world's guard.
Live* new_live_in_file() noexcept;
// There was none once, so there will be none.
bool is_full() noexcept;

template <class T>
T* at_offset(std::uint32_t offset) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(&record()) + offset);
}

}  // namespace lockswap::profile
