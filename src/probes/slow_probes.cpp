#include "probes/slow_probes.h"

#include "platform/clock.h"

#if __has_include(<sys/sdt.h>) && !defined(LOCKSWAP_WITHOUT_PROBES)
#define _SDT_HAS_SEMAPHORES 1  // NOLINT(bugprone-reserved-identifier): sdt.h's own
#include <sys/sdt.h>

extern "C" {
// The kernel adds to them. They are in a section of the file, not in .bss, since it knows them by
// their place in the file. Their names are the header's.
[[gnu::section(".probes")]] volatile unsigned short lockswap_mutex_slow_semaphore = 0;
[[gnu::section(".probes")]] volatile unsigned short lockswap_rdlock_slow_semaphore = 0;
}

namespace lockswap::probes {

std::uint64_t slow_begins(Slow what) noexcept {
  const bool is_traced = what == Slow::mutex ? lockswap_mutex_slow_semaphore != 0
                                             : lockswap_rdlock_slow_semaphore != 0;
  return is_traced ? monotonic_ns() : 0;
}

void slow_ends(Slow what, const void* object, std::uint64_t since, const void* caller) noexcept {
  if (since == 0) return;
  const std::uint64_t ns = monotonic_ns() - since;
  if (what == Slow::mutex) {
    STAP_PROBE3(lockswap, mutex_slow, object, ns, caller);
  } else {
    STAP_PROBE3(lockswap, rdlock_slow, object, ns, caller);
  }
}

}  // namespace lockswap::probes

#else

namespace lockswap::probes {

std::uint64_t slow_begins(Slow) noexcept { return 0; }
void slow_ends(Slow, const void*, std::uint64_t, const void*) noexcept {}

}  // namespace lockswap::probes

#endif
