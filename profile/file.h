// The file of a profiled process, and memory allocation in it.
#pragma once

#include <cstdint>

#include "profile/record.h"

namespace lockswap::profile {

// Opens FOLDER/<pid>.<n>.lockprof. Returns false if the file can't be made, and then nothing is
// recorded.
bool open_file(const char* folder) noexcept;
// Called in a forked child. Opens a new file in place of the parent's, which is left as it is.
bool reopen_file() noexcept;
void close_file() noexcept;

// nullptr until the file is open. Never moves afterwards.
inline constinit Record* the_record = nullptr;
inline Record& record() noexcept { return *the_record; }

// Returns the offset of zeroed memory in the file, or 0 if the file is full. Called under the
// world's guard.
std::uint32_t take_bytes(std::uint32_t bytes) noexcept;
// Returns a new Live in the file, which belongs to no thread yet, or nullptr if the file is full.
// Called under the world's guard.
Live* new_live_in_file() noexcept;
// Returns whether an allocation has failed. Then later ones fail as well.
bool is_full() noexcept;

template <class T>
T* at_offset(std::uint32_t offset) noexcept {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(&record()) + offset);
}

}  // namespace lockswap::profile
