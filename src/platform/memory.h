// Memory that does not come from malloc: programs' mallocs take pthread locks themselves.
#pragma once

#include <cstddef>

#include <sys/mman.h>

#include "platform/syscall.h"

namespace lockswap {

// Zeroed pages, or nullptr. `bytes` is rounded up to whole pages by the kernel.
inline void* map_pages(std::size_t bytes, int protection = PROT_READ | PROT_WRITE) noexcept {
  const long r = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), protection,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return r < 0 && r > -4096 ? nullptr : reinterpret_cast<void*>(r);
}

inline void unmap_pages(void* p, std::size_t bytes) noexcept {
  raw_syscall(SYS_munmap, reinterpret_cast<long>(p), static_cast<long>(bytes));
}

inline bool open_pages(void* p, std::size_t bytes) noexcept {
  return raw_syscall(SYS_mprotect, reinterpret_cast<long>(p), static_cast<long>(bytes),
                     PROT_READ | PROT_WRITE) == 0;
}

}  // namespace lockswap
