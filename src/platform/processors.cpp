#include "platform/processors.h"

#include <bit>

#include "platform/syscall.h"
#include "platform/topology.h"

namespace lockswap {
namespace {

constinit Processors at_start{};
constinit bool has_read = false;
constinit KeptQuota kept{};
constinit Affinity affinity{};

}  // namespace

std::uint32_t Affinity::together(std::uint32_t last) noexcept {
  static_assert(kWords * 64 == kMostCpus);
  std::uint64_t mine[kWords] = {};
  const long bytes =
      raw_syscall(SYS_sched_getaffinity, 0, sizeof mine, reinterpret_cast<long>(mine));
  if (bytes <= 0) return last;
  const bool ends = ++asked_ == kWindow;
  int n = 0;
  for (std::uint32_t i = 0; i < kWords; ++i) {
    now_[i] |= mine[i];
    if (ends) {
      before_[i] = now_[i];
      now_[i] = 0;
    }
    n += std::popcount(now_[i] | before_[i]);
  }
  if (ends) asked_ = 0;
  return n == 0 ? last : static_cast<std::uint32_t>(n);
}

std::uint32_t Affinity::alone(std::uint32_t last) noexcept {
  *this = {};
  asked_ = kWindow - 1;  // the calling thread forms a window of its own
  return together(last);
}

Processors read_processors(const Processors& last, const char* root, KeptQuota* keeps) noexcept {
  Affinity mine;
  return {mine.alone(last.allowed), read_quota(last.quota_percent, root, keeps)};
}

const Processors& processors_at_start(bool again) noexcept {
  if (!has_read) {
    at_start = {affinity.alone(1), read_quota(kNoQuota, "", again ? &kept : nullptr)};
  }
  has_read = true;
  return at_start;
}

Processors processors_again(const Processors& last) noexcept {
  return {affinity.together(last.allowed), kept.again(last.quota_percent)};
}

}  // namespace lockswap
