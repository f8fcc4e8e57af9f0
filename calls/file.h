// The file of this process's calls.
#pragma once

#include <cstdint>

#include "calls/record.h"

namespace lockswap::calls {

inline constinit Record* the_record = nullptr;  // where a child has its own, too
inline Record& record() noexcept { return *the_record; }

// Returns false if the file can't be made; recording::file_error() says why.
bool open_file(const char* folder, std::uint64_t most_bytes, std::uint64_t after_ns) noexcept;
// In a forked child, in the place of the parent's.
bool reopen_file() noexcept;

// The next chunk, for that thread; nullptr if the file is full. Under the world's guard.
Chunk* take_chunk(std::uint64_t thread) noexcept;

}  // namespace lockswap::calls
