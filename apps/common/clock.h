// Clocks: seconds for rates, ticks for what must be cheap.
#pragma once

#include <cstdint>
#include <ctime>

namespace bench {

inline double seconds_of(clockid_t clock) noexcept {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The processor's time that this thread has used.
inline double cpu_ns() noexcept { return seconds_of(CLOCK_THREAD_CPUTIME_ID) * 1e9; }

// Returns true if ticks are the processor's time stamp counter, which the kernel itself has found
// to run evenly and alike on all processors. Otherwise they are CLOCK_MONOTONIC's nanoseconds.
extern const bool ticks_are_tsc;

// The cheapest clock. About 12 ns with the counter; it waits for the instructions before it, so an
// acquisition that is timed is over when the clock is read.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (ticks_are_tsc) [[likely]] {
    unsigned processor;
    return __builtin_ia32_rdtscp(&processor);
  }
#endif
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(t.tv_nsec);
}

// Measured between the start of the program and now (it waits until that is 20 ms): the longer
// the program has run, the more exact. 1 where ticks are nanoseconds.
double ns_per_tick();

}  // namespace bench
