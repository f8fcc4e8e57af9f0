// Calls by which a program maps memory that other processes may share, so that the audit knows
// where to look. Each is a call of glibc's function and, if it maps such memory, a note of that.

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/types.h>

#include "audit/shared.h"
#include "interpose/exports.h"
#include "interpose/real_function.h"

namespace lockswap::audit {
namespace {

constinit RealFunction<void* (*)(void*, std::size_t, int, int, int, off_t)> real_mmap(
    "mmap", LOCKSWAP_OLDEST);
constinit RealFunction<void* (*)(void*, std::size_t, std::size_t, int, ...)> real_mremap(
    "mremap", LOCKSWAP_OLDEST);
constinit RealFunction<void* (*)(int, const void*, int)> real_shmat("shmat", LOCKSWAP_OLDEST);

// A lock can't be used where nothing can be written.
bool is_for_locks(int protection, int flags) noexcept {
  const int type = flags & MAP_TYPE;
  return (protection & PROT_WRITE) != 0 && (type == MAP_SHARED || type == MAP_SHARED_VALIDATE);
}

void note_mapping(const void* at, std::size_t bytes) noexcept {
  maps_shared_memory(address_of(at), bytes);
}

std::size_t size_of_segment(int id) noexcept {
  const int before = errno;
  struct shmid_ds segment {};
  if (shmctl(id, IPC_STAT, &segment) == 0) return segment.shm_segsz;
  errno = before;
  return 0;
}

}  // namespace
}  // namespace lockswap::audit

using namespace lockswap::audit;

extern "C" {

LOCKSWAP_EXPORTED void* lockswap_mmap(void* wish, std::size_t bytes, int protection, int flags,
                                      int fd, off_t offset) {
  void* const at = real_mmap.get()(wish, bytes, protection, flags, fd, offset);
  if (at != MAP_FAILED && is_for_locks(protection, flags)) note_mapping(at, bytes);
  return at;
}

LOCKSWAP_EXPORTED void* lockswap_mremap(void* old, std::size_t old_bytes, std::size_t bytes,
                                        int flags, ...) {
  void* wish = nullptr;
  if ((flags & ~MREMAP_MAYMOVE) != 0) {  // the others come with an address
    std::va_list more;
    va_start(more, flags);
    wish = va_arg(more, void*);
    va_end(more);
  }
  void* const at = real_mremap.get()(old, old_bytes, bytes, flags, wish);
  if (at != MAP_FAILED && may_be_shared(old)) note_mapping(at, bytes);
  return at;
}

LOCKSWAP_EXPORTED void* lockswap_shmat(int id, const void* wish, int flags) {
  void* const at = real_shmat.get()(id, wish, flags);
  if (at != MAP_FAILED && (flags & SHM_RDONLY) == 0) note_mapping(at, size_of_segment(id));
  return at;
}

}  // extern "C"

LOCKSWAP_SYMBOLS(lockswap_mmap)
LOCKSWAP_SYMBOLS(lockswap_mremap)
LOCKSWAP_SYMBOLS(lockswap_shmat)
