// The quota of the process's cgroup, and the files by which it can be read again.
//
// To open a file in the midst of a program would take a number that the program counts on, and a
// path that it may no longer reach. So the files of two groups stay open (kept_file.h): of the
// nearest one that has such files, and of the one that has the smallest quota. Once the program has
// closed one of them, nothing is read any more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/kept_file.h"

namespace lockswap {

inline constexpr std::uint64_t kNoQuota = ~std::uint64_t{0};

// The files of a group. Version 1 has a second one, of the period.
struct QuotaFiles {
  KeptFile quota;
  KeptFile period;
  std::uint64_t percent = kNoQuota;  // when they were read
  bool is_v1 = false;

  void close() noexcept {
    quota.close();
    period.close();
  }
  bool move_up() noexcept;
  // Returns false if it can't be read.
  bool read(std::uint64_t& value) const noexcept;
};

// What stays open. One thread uses it at a time.
class KeptQuota {
 public:
  // Takes the files of one of the process's groups, from its own up.
  void offer(QuotaFiles files) noexcept;
  // After the last one.
  void keep() noexcept;
  bool is_kept() const noexcept { return nearest_.quota.is_open(); }
  // The smallest quota now. Where one can't be read any more, it is `last` for ever.
  std::uint64_t again(std::uint64_t last) noexcept;
  void close() noexcept;

 private:
  QuotaFiles nearest_;
  QuotaFiles smallest_;              // if that is another group
  std::uint64_t others_ = kNoQuota;  // of groups whose files were closed
};

// The smallest quota, in percent of a processor, among the process's own cgroup and those above it,
// as far as they can be seen from here, under version 2 (`cpu.max`) and version 1
// (`cpu.cfs_quota_us`); `last` if the system refuses to say. Files go to `keeps`, if there is one.
// `root` is for tests: the folder in which /proc and /sys/fs/cgroup are.
std::uint64_t read_quota(std::uint64_t last, const char* root, KeptQuota* keeps) noexcept;

}  // namespace lockswap
