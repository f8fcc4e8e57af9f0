// The file with this process's counts.
#pragma once

#include "metrics/record.h"

namespace lockswap::metrics {

struct Running {
  const char* version;
  const char* rwlock;
  const char* mutex;
  bool counts_holds;
};

inline constinit Record* the_record = nullptr;  // a child's own file is mapped there, too
inline Record& record() noexcept { return *the_record; }

// Returns false if the file can't be made; recording::file_error() says why.
bool open_file(const char* folder, const Running& running) noexcept;
// Called in a forked child. Replaces the parent's file.
bool reopen_file() noexcept;

}  // namespace lockswap::metrics
