// Static probes of slow stages, which glibc does not have: mutex_slow and rdlock_slow. Their
// arguments are the object, the nanoseconds that the stage took, and the address that the program
// called from. They cost the fast stage nothing, traced or not. Each has a semaphore, a word that
// the kernel makes nonzero while a tracer is attached, and only then is the clock read. Without
// sys/sdt.h at build time (see probes.h) they never fire.
#pragma once

#include <cstdint>

namespace lockswap::probes {

enum class Slow : std::uint8_t { mutex, read };
// Returns the time now, or 0 if no tracer is attached.
std::uint64_t slow_begins(Slow what) noexcept;
// `since` is the result of slow_begins.
void slow_ends(Slow what, const void* object, std::uint64_t since, const void* caller) noexcept;

}  // namespace lockswap::probes
