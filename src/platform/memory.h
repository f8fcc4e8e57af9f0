// Memory that does not come from malloc, because programs' mallocs take pthread locks themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

#include <sys/mman.h>

#include "platform/sanitizer.h"
#include "platform/syscall.h"

namespace lockswap {

// Returns zeroed pages, or nullptr. The kernel rounds `bytes` up to whole pages, and uses the pages
// at `wish` if nothing is mapped there.
inline void* map_pages(std::size_t bytes, std::uintptr_t wish = 0) noexcept {
  constexpr int kAccess = PROT_READ | PROT_WRITE;
  constexpr int kHow = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#if defined(LOCKSWAP_TSAN)
  // Tells ThreadSanitizer that they are new: it would report races with threads that have ended.
  void* const p = mmap(reinterpret_cast<void*>(wish), bytes, kAccess, kHow, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
#else
  const long r = raw_syscall(SYS_mmap, static_cast<long>(wish), static_cast<long>(bytes), kAccess,
                             kHow, -1, 0);
  return r < 0 && r > -4096 ? nullptr : reinterpret_cast<void*>(r);
#endif
}

// Maps the first `bytes` of a file that is at least as long, so that other processes see what is
// stored there. Returns nullptr if the file can't be opened or mapped.
inline void* map_file(const char* path, std::size_t bytes) noexcept {
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const long r =
      raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  raw_syscall(SYS_close, fd);
  return r < 0 && r > -4096 ? nullptr : reinterpret_cast<void*>(r);
}

inline void unmap_pages(void* p, std::size_t bytes) noexcept {
  raw_syscall(SYS_munmap, reinterpret_cast<long>(p), static_cast<long>(bytes));
}

// Returns whether other processes see what is stored at `p`, which has been written to (MAP_SHARED
// memory). Also false if the kernel does not say. Makes three system calls: some microseconds.
inline bool is_shared_memory(const void* p) noexcept {
  constexpr std::uint64_t kFileOrShared = std::uint64_t{1} << 61;  // private ones are no file's
  const auto page = reinterpret_cast<std::uintptr_t>(p) / static_cast<std::size_t>(getpagesize());
  std::uint64_t entry = 0;
  long got = 0;
  // The first file is empty once the first thread has ended, and Linux before 3.17 lacks the other.
  for (const char* path : {"/proc/self/pagemap", "/proc/thread-self/pagemap"}) {
    const long fd =
        raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    got = raw_syscall(SYS_pread64, fd, reinterpret_cast<long>(&entry), sizeof entry,
                      static_cast<long>(page * sizeof entry));
    raw_syscall(SYS_close, fd);
    if (got != 0) break;
  }
  return got == sizeof entry && (entry & kFileOrShared) != 0;
}

}  // namespace lockswap
