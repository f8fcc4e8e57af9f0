// Static probes of slow stages, which glibc does not have: mutex_slow and rdlock_slow, each with
// the object, the nanoseconds that the stage took, and the address that the program called from.
// They cost the fast stage nothing, traced or not. Each has a semaphore, a word that the kernel
// makes nonzero while a tracer looks: only then a clock is read. Without sys/sdt.h at build time
// (see probes.h) nobody ever looks.
#pragma once

#include <cstdint>

namespace lockswap::probes {

enum class Slow : std::uint8_t { mutex, read };
// The time now; 0: no tracer looks at the end of it.
std::uint64_t slow_begins(Slow what) noexcept;
// `since` is what slow_begins returned.
void slow_ends(Slow what, const void* object, std::uint64_t since, const void* caller) noexcept;

}  // namespace lockswap::probes
