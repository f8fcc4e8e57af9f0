#include "report/parent.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>

#include "platform/syscall.h"
#include "platform/text.h"

namespace lockswap {
namespace {

// Opens /proc/<parent>/NAME for reading, or reads it as a link into `into`. Returns the kernel's
// result.
long parents(const char* name, char* into, std::size_t size) noexcept {
  char path[48];
  Text(path, sizeof path) << "/proc/" << static_cast<std::uint64_t>(raw_syscall(SYS_getppid))
                          << name;
  const long at = reinterpret_cast<long>(path);
  if (into == nullptr) return raw_syscall(SYS_openat, AT_FDCWD, at, O_RDONLY | O_CLOEXEC, 0);
  return raw_syscall(SYS_readlinkat, AT_FDCWD, at, reinterpret_cast<long>(into),
                     static_cast<long>(size));
}

// Finds a variable in an environment that is read in pieces.
class Search {
 public:
  explicit Search(const char* name) noexcept : name_(name) {}

  // Returns true if the character completes the name.
  bool next(char c) noexcept {
    if (c == 0) {
      at_ = 0;
      may_match_ = true;
      return false;
    }
    may_match_ = may_match_ && c == name_[at_];
    return may_match_ && name_[++at_] == 0;
  }

 private:
  const char* name_;
  std::size_t at_ = 0;     // matched characters of the name
  bool may_match_ = true;  // whether this variable's name may still match
};

}  // namespace

bool parent_began_with(const char* name) noexcept {
  static constinit char chunk[4096];
  const long fd = parents("/environ", nullptr, 0);
  if (fd < 0) return false;
  Search search(name);
  bool found = false;
  while (!found) {
    const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(chunk), sizeof chunk);
    if (n == -EINTR) continue;
    if (n <= 0) break;
    for (long i = 0; i < n && !found; ++i)
      found = search.next(chunk[i]);
  }
  raw_syscall(SYS_close, fd);
  return found;
}

bool parent_is_dash() noexcept {
  static constexpr char kEnd[] = "/dash";
  constexpr long kLength = sizeof kEnd - 1;
  char exe[256];
  const long n = parents("/exe", exe, sizeof exe);
  if (n < kLength) return false;
  for (long i = 0; i < kLength; ++i) {
    if (exe[n - kLength + i] != kEnd[i]) return false;
  }
  return true;
}

}  // namespace lockswap
