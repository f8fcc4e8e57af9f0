#include "profile/mappings.h"

#include <fcntl.h>

#include "platform/syscall.h"

namespace lockswap::profile {
namespace {

// A line is "BEGIN-END PERMISSIONS OFFSET DEVICE INODE     PATH", read byte by byte: it may be of
// any length, and come in parts.
class Lines {
 public:
  explicit Lines(Record& r) noexcept : record_(r) {}

  void take(char c) noexcept {
    if (c == '\n') {
      if (line_.is_code && line_.is_in_no_file) note();
      line_ = {};
    } else if (c == ' ') {
      line_.was_space = true;
    } else {
      if (line_.was_space && line_.field < kPath) {
        ++line_.field;
        line_.at = 0;
      }
      line_.was_space = false;
      take_of_field(c);
      ++line_.at;
    }
  }

 private:
  enum : int { kAddresses, kPermissions, kOffset, kDevice, kInode, kPath };

  void take_of_field(char c) noexcept {
    if (line_.field == kAddresses) {
      if (c == '-') {
        line_.begin = line_.end;
        line_.end = 0;
      } else {
        line_.end = line_.end << 4 | static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    } else if (line_.field == kPermissions && line_.at == 2) {
      line_.is_code = c == 'x';
    } else if (line_.field == kPath && line_.at < sizeof kMemory - 1) {
      // Names: "[anon:...]" is one that the program gave; other brackets are the kernel's. A file
      // of memfd_create is how some compilers write code that they may not write where it runs.
      if (line_.at == 0) line_.is_in_no_file = c == '[' || c == '/';
      if (line_.at == 0) line_.first = c;
      if (line_.at == 1 && line_.first == '[') line_.is_in_no_file = c == 'a';
      if (line_.first == '/') line_.is_in_no_file = line_.is_in_no_file && c == kMemory[line_.at];
    }
  }

  void note() noexcept {
    const std::uint32_t count = record_.made_code.load(relaxed);  // relaxed, all: see close_file
    if (count != 0 && record_.made[count - 1].end == line_.begin) {
      record_.made[count - 1].end = line_.end;
    } else if (count < kMostMadeCode) {
      record_.made[count] = {line_.begin, line_.end};
      record_.made_code.store(count + 1, relaxed);
    }
  }

  static constexpr char kMemory[] = "/memfd:";

  struct Line {
    int field = kAddresses;
    std::size_t at = 0;  // in the field
    bool was_space = false;
    bool is_code = false;
    bool is_in_no_file = true;
    char first = 0;  // of the path
    std::uint64_t begin = 0, end = 0;
  };

  Record& record_;
  Line line_;
};

}  // namespace

void note_made_code(Record& r) noexcept {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/maps"),
                              O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  r.made_code.store(0, relaxed);
  Lines lines(r);
  char part[1024] = {};
  for (long n = 0;
       (n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(part), sizeof part)) > 0;) {
    for (long i = 0; i < n; ++i)
      lines.take(part[i]);
  }
  raw_syscall(SYS_close, fd);
}

}  // namespace lockswap::profile
