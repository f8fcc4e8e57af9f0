// Files that the library writes: statistics, recordings, traces. Their names can be guessed, and
// others may write to their folder, /tmp in particular. So they are never opened through symbolic
// links, another user's files are never written to, and nobody else may read ours.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>

#include <sys/stat.h>

#include "platform/syscall.h"
#include "platform/write.h"

namespace lockswap {

// Creates a file that must not exist. As all functions here that open, returns an fd or -errno.
inline long open_new_file(const char* path, int flags) noexcept {
  return raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                     flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

// Opens a file that this user has written before. Rejects anything else of that name: another
// user's file, a link to it, a pipe, a device.
inline long open_own_file(const char* path, int flags) noexcept {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                              flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
  if (fd < 0) return fd;
  struct stat found {};  // as the kernel has it, too, where we run
  if (raw_syscall(SYS_fstat, fd, reinterpret_cast<long>(&found)) == 0 && S_ISREG(found.st_mode) &&
      found.st_nlink == 1 && found.st_uid == raw_syscall(SYS_geteuid)) {
    return fd;
  }
  raw_syscall(SYS_close, fd);
  return -EEXIST;
}

// Opens or creates a file, which may exist if it is ours.
inline long open_output_file(const char* path, int flags) noexcept {
  const long fd = open_new_file(path, flags);
  return fd == -EEXIST ? open_own_file(path, flags) : fd;
}

// Allocates the blocks of a part of a file: running out of disk space later, at a store to its
// mapping, would raise a signal. Not every file system can allocate without writing.
inline bool allocate_blocks(long fd, std::uint64_t begin, std::uint64_t bytes) noexcept {
  const NoWriteSignals none;
  if (none.done(raw_syscall(SYS_fallocate, fd, 0, static_cast<long>(begin),
                            static_cast<long>(bytes))) == 0) {
    return true;
  }
  static constexpr char kZeroes[4096] = {};
  for (std::uint64_t done = 0; done < bytes;) {
    const auto size = static_cast<long>(std::min<std::uint64_t>(bytes - done, sizeof kZeroes));
    const long n = none.done(raw_syscall(SYS_pwrite64, fd, reinterpret_cast<long>(kZeroes), size,
                                         static_cast<long>(begin + done)));
    if (n == -EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}

// Creates the first file that doesn't exist yet of those that name(0), name(1), ... write into
// `path`, and allocates its first `bytes`. A file that exists is from before an exec, or from an
// older process with the same id.
template <class Name>
long open_numbered_file(const char* path, std::uint64_t bytes, const Name& name) noexcept {
  for (std::uint64_t n = 0;; ++n) {
    name(n);
    const long fd = open_new_file(path, O_RDWR);
    if (fd == -EEXIST) continue;
    if (fd < 0 || allocate_blocks(fd, 0, bytes)) return fd;
    raw_syscall(SYS_close, fd);
    raw_syscall(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(path), 0);
    return -ENOSPC;
  }
}

}  // namespace lockswap
