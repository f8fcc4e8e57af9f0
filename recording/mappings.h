// The mappings of this process, from /proc/self/maps. Async-signal-safe; allocates no memory.
#pragma once

#include <cstdint>

namespace lockswap::recording {

struct Mapping {
  std::uint64_t begin, end;
  std::uint64_t offset;  // in the file
  std::uint64_t device;  // major number in the upper half, minor in the lower; with the inode,
  std::uint64_t inode;   // identifies the file, also if it is shared memory without a name
  bool is_code;
  bool is_shared;  // with other processes
  char path[208];  // empty: none; cut if it is too long
};

// Takes some microseconds for all of them. If /proc is missing there are none.
class Mappings {
 public:
  Mappings() noexcept;
  ~Mappings();
  Mappings(const Mappings&) = delete;
  Mappings& operator=(const Mappings&) = delete;

  // Returns false at the end.
  bool next(Mapping& into) noexcept;

 private:
  bool open(const char* path) noexcept;
  void close() noexcept;
  bool read_more() noexcept;
  char next_char() noexcept;  // 0 at the end
  std::uint64_t hex(char& behind) noexcept;
  std::uint64_t decimal(char& behind) noexcept;
  char behind_word() noexcept;

  long fd_ = -1;
  long at_ = 0;
  long size_ = 0;
  char buffer_[512] = {};
};

}  // namespace lockswap::recording
