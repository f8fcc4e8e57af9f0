// The quota of the process's cgroup, and the files by which it can be read again.
//
// Opening a file while the program runs could take a descriptor number that the program relies on,
// and the path may no longer be reachable. So the files of two groups stay open (kept_file.h): of
// the nearest one that has such files, and of the one that has the smallest quota. Once the program
// has closed one of them, nothing is read any more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/kept_file.h"

namespace lockswap {

inline constexpr std::uint64_t kNoQuota = ~std::uint64_t{0};

// The files of a group. Version 1 has a second file, for the period.
struct QuotaFiles {
  KeptFile quota;
  KeptFile period;
  std::uint64_t percent = kNoQuota;  // the quota when they were read
  bool is_v1 = false;

  void close() noexcept {
    quota.close();
    period.close();
  }
  bool move_up() noexcept;
  // Returns false if the quota can't be read.
  bool read(std::uint64_t& value) const noexcept;
};

// The files that stay open. Must be used by one thread at a time.
class KeptQuota {
 public:
  // Takes the files of one of the process's groups, from its own up.
  void offer(QuotaFiles files) noexcept;
  // Called after the last group.
  void keep() noexcept;
  bool is_kept() const noexcept { return nearest_.quota.is_open(); }
  // Returns the smallest quota now. Once one can't be read any more, it is `last` for ever.
  std::uint64_t again(std::uint64_t last) noexcept;
  void close() noexcept;

 private:
  QuotaFiles nearest_;
  QuotaFiles smallest_;              // the group with the smallest quota, if that is another one
  std::uint64_t others_ = kNoQuota;  // the smallest quota of groups whose files were closed
};

// Returns the smallest quota, in percent of a processor, of the process's own cgroup and those
// above it that are visible here, under version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`),
// or `last` if the system refuses to say. Open files go to `keeps`, if that isn't null. `root`,
// for tests, is the folder that contains /proc and /sys/fs/cgroup.
std::uint64_t read_quota(std::uint64_t last, const char* root, KeptQuota* keeps) noexcept;

}  // namespace lockswap
