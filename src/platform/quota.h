// The quota of the process's cgroup, and the files by which it can be read again.
//
// To open a file in the midst of a program would take a number that the program counts on, and a
// path that it may no longer reach. So the files of two groups stay open, under high numbers: of
// the nearest one that has such files, and of the one that has the smallest quota. The numbers are
// the process's, which may close them or use them for something else: then the files that are
// open there are others, and nothing is read any more.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockswap {

inline constexpr std::uint64_t kNoQuota = ~std::uint64_t{0};

// A file that stays open, by its number and what makes sure that it is still the same.
class KeptFile {
 public:
  // Takes the descriptor; `fd` < 0: there is no file.
  void take(long fd) noexcept { fd_ = fd; }
  bool is_open() const noexcept { return fd_ >= 0; }
  void close() noexcept;
  // Gives it a high number, which ends at exec. False: it is closed.
  bool move_up() noexcept;
  // The first bytes of the file, as text. False: they can't be had, or it is another file.
  bool read(char* text, std::size_t size) const noexcept;

 private:
  bool find_out(std::uint64_t& device, std::uint64_t& inode) const noexcept;
  long fd_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

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
  // False: it can't be read.
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
