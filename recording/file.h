// The file of a recording: a shared mapping, so its contents outlive the process.
#pragma once

#include <cstdint>

#include "recording/head.h"

namespace lockswap::recording {

struct FileKind {
  Format format;
  std::uint32_t blocks;  // bytes that exist from the beginning; the rest is not touched
  std::uint32_t mapped;  // bytes
  // The name: the user's folder, `before`, <pid>.<n>, `behind`.
  const char* before;
  const char* behind;
};

// Opens a new file and fills in its head. Returns nullptr on failure.
Head* open_file(const FileKind& kind, const char* where) noexcept;
// Called in a forked child. Opens a new file in place of the parent's, which is left as it is.
// Returns false on failure, and then the parent's is still mapped.
bool reopen_file(const FileKind& kind, Head& at) noexcept;

// Extends the last file by these bytes, which follow its last ones. Returns false on failure.
bool grow_file(std::uint64_t begin, std::uint64_t bytes) noexcept;

// Returns the errno with which the last file could not be made.
int file_error() noexcept;

// The name of the last file that open_file or reopen_file tried to make.
const char* file_name() noexcept;

}  // namespace lockswap::recording
