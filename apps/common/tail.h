// How long acquisitions took: a histogram that forgets no extreme.
//
// Buckets as in Gil Tene's HdrHistogram (which Debian does not have for C++): 64 to each power of
// two. So a quantile is at most 1/64 too long, never too short, and the longest value is exact.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

class Tail {
 public:
  // About 2 ns. Not thread-safe: a thread has its own; merge() when all are done.
  void add(std::uint64_t value) noexcept {
    ++buckets_[bucket_of(value)];
    longest_ = std::max(longest_, value);
  }

  void merge(const Tail& other) noexcept {
    for (std::size_t i = 0; i < kBuckets; ++i)
      buckets_[i] += other.buckets_[i];
    longest_ = std::max(longest_, other.longest_);
  }

  std::uint64_t count() const noexcept {
    std::uint64_t n = 0;
    for (const std::uint64_t b : buckets_)
      n += b;
    return n;
  }
  std::uint64_t longest() const noexcept { return longest_; }

  // The shortest value (rounded up to its bucket's end) that at least that many of a thousand
  // values do not exceed; 0 if there are none.
  std::uint64_t at_per_mille(unsigned per_mille) const noexcept {
    const std::uint64_t wanted = (count() * per_mille + 999) / 1000;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += buckets_[i];
      if (seen >= wanted && seen != 0) return std::min(last_of(i), longest_);
    }
    return 0;
  }

 private:
  static constexpr int kStepBits = 6;
  static constexpr std::uint64_t kSteps = 1 << kStepBits;
  static constexpr std::size_t kBuckets = (64 - kStepBits + 1) * kSteps;

  // Values below kSteps have a bucket each. Above, the leading kStepBits + 1 bits choose it.
  static std::size_t bucket_of(std::uint64_t v) noexcept {
    if (v < kSteps) return v;
    const int dropped = static_cast<int>(std::bit_width(v)) - (kStepBits + 1);
    return static_cast<std::size_t>(dropped) * kSteps + (v >> dropped);
  }
  static std::uint64_t last_of(std::size_t bucket) noexcept {
    if (bucket < 2 * kSteps) return bucket;
    const std::size_t dropped = bucket / kSteps - 1;
    return ((bucket % kSteps + kSteps + 1) << dropped) - 1;
  }

  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(kBuckets);
  std::uint64_t longest_ = 0;
};

}  // namespace bench
