// The file of a recording: mapped and shared, so what was written there outlives the process.
#pragma once

#include <cstdint>

#include "recording/head.h"

namespace lockswap::recording {

struct FileKind {
  Format format;
  std::uint32_t blocks;  // bytes that exist from the beginning; behind them nothing is touched
  std::uint32_t mapped;  // bytes
  // The name: where the user wants it, `before`, <pid>.<n>, `behind`.
  const char* before;
  const char* behind;
};

// Opens a new file with its head filled in. Returns nullptr if it can't be made.
Head* open_file(const FileKind& kind, const char* where) noexcept;
// Called in a forked child. Opens a new file in place of the parent's, which stays as it is.
// Returns false if it can't be made; then the parent's is still there.
bool reopen_file(const FileKind& kind, Head& at) noexcept;

// Gives the last file these bytes, which follow those that it has. Returns false if it can't.
bool grow_file(std::uint64_t begin, std::uint64_t bytes) noexcept;

// Why the last file could not be made, as errno has it.
int file_error() noexcept;

// The name of the last file that open_file or reopen_file tried to make.
const char* file_name() noexcept;

}  // namespace lockswap::recording
