// What a process under LOCKSWAP_METRICS leaves behind: a shared mapping of one file of fixed size.
// So the counts survive kill -9, and reading them costs the process nothing. `lockswap metrics`
// reads it (harness/lockswap/metrics/record.py has the same offsets). The file begins as
// recording/head.h says.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/atomic.h"
#include "recording/head.h"

namespace lockswap::metrics {

using recording::Place;

inline constexpr std::uint64_t kMagic = 0x63697274656d706c;  // "lpmetric"
inline constexpr std::uint32_t kSchema = 1;

// Series 0 is for locks that found no room.
inline constexpr std::uint32_t kMostSeries = 201;
inline constexpr std::uint32_t kFrames = 8;

using Word = NativeAtomic<std::uint64_t>;

enum class Kind : std::uint32_t { mutex, rwlock };
enum class Mode : std::uint32_t { exclusive, shared };

// Each bucket counts durations up to its bound, from that of the bucket before. The last one has no
// bound.
struct Histogram {
  static constexpr std::uint64_t kBounds[] = {
      1'000,       5'000,       10'000,        50'000,        100'000,
      500'000,     1'000'000,   5'000'000,     10'000'000,    50'000'000,
      100'000'000, 500'000'000, 1'000'000'000, 5'000'000'000, 10'000'000'000};
  static constexpr std::size_t kBuckets = sizeof kBounds / sizeof *kBounds + 1;

  static constexpr std::size_t bucket(std::uint64_t ns) noexcept {
    std::size_t i = 0;
    while (i + 1 < kBuckets && ns > kBounds[i])
      ++i;
    return i;
  }
  // relaxed: counts, which a reader in another process adds up.
  void add(std::uint64_t ns, std::uint64_t times) noexcept {
    sum_ns.fetch_add(ns * times, relaxed);
    n[bucket(ns)].fetch_add(times, relaxed);
  }

  Word sum_ns;
  Word n[kBuckets];
};

struct Counts {
  Word acquisitions;
  Word failed_tries;
  Word timeouts;
  Histogram wait;
  Histogram hold;  // empty without LOCKSWAP_METRICS_HOLDS
};

// Locks of one kind that are the same variable, or were first used with the same stack.
struct Series {
  Kind kind;
  std::uint32_t frames;
  Place object;          // a static variable; 0: identified by the stack
  Place frame[kFrames];  // return addresses, the innermost first
  Counts counts[2];      // by mode
};

struct Record {
  recording::Head head;
  char version[16];
  char rwlock[32], mutex[32];  // the chosen locks
  std::uint64_t started_ns;    // since 1970
  std::uint64_t start_time;    // as in /proc/PID/stat
  std::uint64_t pid_namespace;
  std::uint32_t counts_holds;
  NativeAtomic<std::uint32_t> count;  // of series
  Series series[kMostSeries];
};

static_assert(offsetof(Record, version) == 76384);
static_assert(sizeof(Counts) == 37 * 8 && sizeof(Series) == 80 + 2 * sizeof(Counts));
static_assert(offsetof(Record, series) == 76384 + 112 && sizeof(Record) == 76496 + 201 * 672);

inline constexpr recording::Format kFormat{
    .magic = kMagic, .schema = kSchema, .size = sizeof(Record)};

}  // namespace lockswap::metrics
