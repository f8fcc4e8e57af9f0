// The contents of a report, and its two formats: stats_json.cpp and stats_text.cpp.
// stats_report.cpp adds up and writes. All of it is async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "config/config.h"
#include "platform/text.h"
#include "registry/mutexes.h"
#include "registry/rwlocks.h"
#include "report/report.h"
#include "stats/counts.h"

namespace lockswap {

struct Totals {
  std::uint64_t n[kEvents] = {};
  std::uint64_t locks = 0;
  std::uint64_t mutexes = 0;
  std::uint64_t operator[](Event e) const noexcept { return n[static_cast<std::size_t>(e)]; }
};

// The number of busiest objects in a report, for each kind.
inline constexpr std::size_t kBusiest = 10;
struct Busiest {
  const Counts* at[kBusiest] = {};
  std::size_t count = 0;
};

struct Field {
  const char* name;
  Event event;
};
inline constexpr Field kAllFields[] = {
    {"reads", Event::read},
    {"fast_reads", Event::fast_read},
    {"slow_reads_bias_off", Event::slow_read_bias_off},
    {"slow_reads_collision", Event::slow_read_collision},
    {"recursive_reads", Event::recursive_read},
    {"patience_reads", Event::patience_read},
    {"writes", Event::write},
    {"revocations", Event::revocation},
    {"revocation_ns", Event::revocation_ns},
    {"failed_tries", Event::failed_try},
    {"timeouts", Event::timeout},
    {"foreign_releases", Event::foreign_release},
    {"hand_offs", Event::hand_off},
    {"phases", Event::phase},
    {"naps", Event::nap},
    {"to_glibc", Event::to_glibc},
    // For mutexes.
    {"acquisitions", Event::mutex_lock},
    {"hand_offs", Event::mutex_hand_off},
    {"naps", Event::mutex_nap},
    {"failed_tries", Event::mutex_failed_try},
    {"timeouts", Event::mutex_timeout},
    {"to_glibc", Event::mutex_to_glibc},
    // For condition variables only.
    {"waits", Event::cond_wait},
    {"wait_timeouts", Event::cond_timeout},
    {"signals", Event::cond_signal},
    {"broadcasts", Event::cond_broadcast},
};
inline constexpr auto kFields = std::span(kAllFields).first<16>();
inline constexpr auto kMutexFields = std::span(kAllFields).last<10>();
inline constexpr auto kOfOneMutex = kMutexFields.first<6>();
inline constexpr auto kOfConds = kMutexFields.last<4>();
static_assert(kFields.size() + kMutexFields.size() == std::size(kAllFields));

// Replaces a lock's name if there is a policy.
inline constexpr const char* kByPolicy = "policy";
inline const char* name_of_lock(const Config& config) noexcept {
  return config.policy != nullptr ? kByPolicy : rwlock_of(config).name;
}
inline const char* name_of_mutex(const Config& config) noexcept {
  return config.mutex != nullptr ? config.mutex : kByPolicy;
}
inline bool has_bias(const Config& config) noexcept { return rwlock_of(config).biased; }

inline const char* name_of_conds(const Config& config) noexcept {
  return swaps_conds(config) ? "own" : "pthread";
}
inline bool counts_conds_alone(const Config& config) noexcept {
  return !counts_mutexes(config) && counts_conds(config);
}

// Appends fast / reads with six decimal places.
void put_share(Text& out, std::uint64_t fast, std::uint64_t reads) noexcept;

// The format for a file.
void put_json(Text& out, const Config& config, const Totals& t, const Busiest& top,
              const Busiest& top_mutexes, const Bypasses* bypasses) noexcept;

// What the rules of a policy matched, in both formats.
void put_json_policy(Text& out, const Config& config) noexcept;
void put_text_policy(Text& out, const Config& config) noexcept;
void put_json_string(Text& out, const char* s) noexcept;

// The format for stderr.
void put_text_rwlocks(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept;
void put_text_mutexes(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept;
void put_bypasses(Text& out, const Bypasses& b) noexcept;

}  // namespace lockswap
