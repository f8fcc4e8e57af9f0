#include "probes/slow_probes.h"

#include "platform/ticks.h"
#include "probes/slow_stages.h"

#if __has_include(<sys/sdt.h>) && !defined(LOCKSWAP_WITHOUT_PROBES)
#define _SDT_HAS_SEMAPHORES 1  // NOLINT(bugprone-reserved-identifier): sdt.h's own
#include <sys/sdt.h>

extern "C" {
// The kernel increments these. They are in a section of the file and not in .bss, because it finds
// them by their place in the file. The header determines their names.
[[gnu::section(".probes")]] volatile unsigned short lockswap_mutex_slow_semaphore = 0;
[[gnu::section(".probes")]] volatile unsigned short lockswap_rdlock_slow_semaphore = 0;
}

namespace lockswap::probes {
namespace {

bool is_traced(Slow what) noexcept {
  return what == Slow::mutex ? lockswap_mutex_slow_semaphore != 0
                             : lockswap_rdlock_slow_semaphore != 0;
}

void trace(Slow what, const void* object, std::uint64_t ns, const void* caller) noexcept {
  if (what == Slow::mutex) {
    STAP_PROBE3(lockswap, mutex_slow, object, ns, caller);
  } else {
    STAP_PROBE3(lockswap, rdlock_slow, object, ns, caller);
  }
}

}  // namespace
}  // namespace lockswap::probes

#else

namespace lockswap::probes {
namespace {

bool is_traced(Slow) noexcept { return false; }
void trace(Slow, const void*, std::uint64_t, const void*) noexcept {}

}  // namespace
}  // namespace lockswap::probes

#endif

namespace lockswap::probes {

namespace {

// Only slow stages of mutexes always wait. Readers enter theirs without waiting as well, millions
// of times a second while a bias is off, and reading the clock twice would be a sixth of that call.
bool is_counted(Slow what) noexcept { return what == Slow::mutex && on_slow_stage != nullptr; }

}  // namespace

std::uint64_t slow_begins(Slow what) noexcept {
  return is_traced(what) || is_counted(what) ? Ticks::now() : 0;
}

void slow_ends(Slow what, const void* object, std::uint64_t since, const void* caller) noexcept {
  if (since == 0) return;
  const std::uint64_t now = Ticks::now();
  if (is_traced(what)) trace(what, object, Ticks::ns_between(since, now), caller);
  if (is_counted(what)) on_slow_stage({object, since, now, caller});
}

}  // namespace lockswap::probes
