// The file with this process's calls.
#pragma once

#include <cstdint>

#include "calls/record.h"

namespace lockswap::calls {

inline constinit Record* the_record = nullptr;  // a child's own file is mapped there, too
inline Record& record() noexcept { return *the_record; }

// Returns false if the file can't be made; recording::file_error() says why.
bool open_file(const char* folder, std::uint64_t most_bytes, std::uint64_t after_ns) noexcept;
// Called in a forked child. Replaces the parent's file.
bool reopen_file() noexcept;

// Returns the next chunk, for that thread, or nullptr if the file is full. Called under the world's
// guard.
Chunk* take_chunk(std::uint64_t thread) noexcept;

}  // namespace lockswap::calls
