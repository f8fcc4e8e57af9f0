// Time stamps for measurements: the processor's counter if it is invariant, else CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "platform/clock.h"
#include "platform/counter_rate.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lockswap {

class Ticks {
 public:
  // Called at start-up, by one thread. Takes some 200 us if the counter's rate has to be measured,
  // and longer if that is disturbed.
  static void calibrate() noexcept {
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kPower = 0x80000007, kInvariant = 1u << 8;
    if (__get_cpuid(kPower, &a, &b, &c, &d) == 0 || (d & kInvariant) == 0) return;
    ns_per_tick_ = measure_ns_per_tick(monotonic_ns, counter, kCalibration, kShift);
#elif defined(__aarch64__)
    std::uint64_t hertz = 0;
    asm("mrs %0, cntfrq_el0" : "=r"(hertz));
    if (hertz != 0) ns_per_tick_ = (std::uint64_t{1'000'000'000} << kShift) / hertz;
#endif
  }

  static std::uint64_t now() noexcept { return has_counter() ? counter() : monotonic_ns(); }

  // The same moment by CLOCK_MONOTONIC and in ticks.
  static ReadTogether moment() noexcept { return read_together(monotonic_ns, now); }

  // Processors' counters may differ a little, so negative differences count as 0.
  static std::uint64_t ns_between(std::uint64_t begin, std::uint64_t end) noexcept {
    if (end <= begin) return 0;
    if (!has_counter()) return end - begin;
    return static_cast<std::uint64_t>(
        (static_cast<unsigned __int128>(end - begin) * ns_per_tick_) >> kShift);
  }

  static bool has_counter() noexcept { return ns_per_tick_ != 0; }

 private:
  static constexpr unsigned kShift = 32;
  static constexpr std::uint64_t kCalibration = 200'000;

  static std::uint64_t counter() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    std::uint64_t n;
    asm volatile("mrs %0, cntvct_el0" : "=r"(n));
    return n;
#endif
  }

  static inline constinit std::uint64_t ns_per_tick_ = 0;  // times 2^kShift; 0: uses the clock
};

}  // namespace lockswap
