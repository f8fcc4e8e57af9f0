#include "platform/processors.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>

#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/topology.h"

namespace lockswap {
namespace {

constexpr std::uint64_t kNoQuota = ~std::uint64_t{0};
constexpr std::size_t kLongestPath = 1024;
constexpr std::uint64_t kMost = std::uint64_t{1} << 50;  // times 100 it is still a number

enum class Read : std::uint8_t { done, absent, refused };

Read read_some(long fd, char* buffer, std::size_t size, std::size_t& got) noexcept {
  const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(buffer), static_cast<long>(size));
  got = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n >= 0 ? Read::done : Read::refused;
}

long open_to_read(const char* path) noexcept {
  return raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
}

// The first bytes of a file as text.
Read read_short(const char* path, char* text, std::size_t size) noexcept {
  const long fd = open_to_read(path);
  if (fd == -ENOENT || fd == -ENOTDIR) return Read::absent;
  if (fd < 0) return Read::refused;
  std::size_t got = 0;
  const Read read = read_some(fd, text, size - 1, got);
  raw_syscall(SYS_close, fd);
  text[got] = 0;
  return read;
}

// Moves `s` past the number. False: there is none.
bool read_number(const char*& s, std::uint64_t& n) noexcept {
  while (*s == ' ')
    ++s;
  if (*s < '0' || *s > '9') return false;
  for (n = 0; *s >= '0' && *s <= '9'; ++s) {
    if (n < kMost) n = n * 10 + static_cast<std::uint64_t>(*s - '0');
  }
  return true;
}

std::uint64_t percent(std::uint64_t quota, std::uint64_t period) noexcept {
  return period == 0 || quota > kMost ? kNoQuota : quota * 100 / period;
}

struct Quota {
  Read read = Read::absent;
  std::uint64_t value = kNoQuota;
};

Quota quota_v2(const char* folder) noexcept {
  char path[kLongestPath];
  char text[64] = {};
  Text(path, sizeof path) << folder << "/cpu.max";
  const Read read = read_short(path, text, sizeof text);
  const char* s = text;
  std::uint64_t quota = 0, period = 0;
  if (read != Read::done || !read_number(s, quota) || !read_number(s, period)) {
    return {read, kNoQuota};  // "max" is no number
  }
  return {read, percent(quota, period)};
}

Quota quota_v1(const char* folder) noexcept {
  char path[kLongestPath];
  char text[64] = {};
  Text(path, sizeof path) << folder << "/cpu.cfs_quota_us";
  Read read = read_short(path, text, sizeof text);
  const char* s = text;
  std::uint64_t quota = 0, period = 0;
  if (read != Read::done || !read_number(s, quota)) return {read, kNoQuota};  // -1: none
  Text(path, sizeof path) << folder << "/cpu.cfs_period_us";
  read = read_short(path, text, sizeof text);
  s = text;
  if (read != Read::done || !read_number(s, period)) return {Read::refused, kNoQuota};
  return {read, percent(quota, period)};
}

// Of the group and those above it, up to the first `top` bytes of `folder`, which is used up.
// A container may see its own group as the top, under a name that is not here: then the folders of
// the name are absent, and the top answers.
Quota smallest(char* folder, std::size_t top, Quota (*quota_of)(const char*)) noexcept {
  Quota all;
  std::size_t end = top;
  while (folder[end] != 0)
    ++end;
  for (;;) {
    const Quota q = quota_of(folder);
    if (q.read == Read::refused) return q;
    if (q.read == Read::done) all = {q.read, q.value < all.value ? q.value : all.value};
    if (end <= top) return all;
    while (end > top && folder[--end] != '/') {}
    folder[end] = 0;
  }
}

// Whether `name` is one of a list such as "cpu,cpuacct", which ends at `end`.
bool has_cpu(const char* s, const char* end) noexcept {
  for (const char* word = s; s <= end; ++s) {
    if (s != end && *s != ',') continue;
    if (s - word == 3 && word[0] == 'c' && word[1] == 'p' && word[2] == 'u') return true;
    word = s + 1;
  }
  return false;
}

// A line of /proc/self/cgroup, number:controllers:path.
Quota quota_of_line(char* line, const char* root) noexcept {
  char* s = line;
  while (*s != 0 && *s != ':')
    ++s;
  if (*s == 0) return {};
  char* const controllers = ++s;
  while (*s != 0 && *s != ':')
    ++s;
  if (*s == 0) return {};
  const bool is_v2 = s == controllers;
  if (!is_v2 && !has_cpu(controllers, s)) return {};
  *s++ = 0;
  char folder[kLongestPath];
  Text out(folder, sizeof folder);
  out << root << "/sys/fs/cgroup";
  if (!is_v2) out << "/" << controllers;
  std::size_t top = 0;
  while (folder[top] != 0)
    ++top;
  // "/": the top itself. "/..": a group outside of what this process may see.
  const bool is_below = s[0] == '/' && s[1] != 0 && !(s[1] == '.' && s[2] == '.');
  if (is_below) out << s;
  return smallest(folder, top, is_v2 ? quota_v2 : quota_v1);
}

std::uint64_t read_quota(std::uint64_t last, const char* root) noexcept {
  char path[kLongestPath];
  Text(path, sizeof path) << root << "/proc/self/cgroup";
  const long fd = open_to_read(path);
  if (fd < 0) return last;
  std::uint64_t least = kNoQuota;
  bool refused = false;
  char line[kLongestPath];
  std::size_t length = 0;
  const auto end_of_line = [&] {
    if (length < sizeof line) {  // no path that is longer can be opened here
      line[length] = 0;
      const Quota q = quota_of_line(line, root);
      refused = refused || q.read == Read::refused;
      if (q.value < least) least = q.value;
    } else {
      refused = true;
    }
    length = 0;
  };
  char buffer[256] = {};
  std::size_t got = 0;
  Read read = Read::done;
  while ((read = read_some(fd, buffer, sizeof buffer, got)) == Read::done && got != 0) {
    for (std::size_t i = 0; i < got; ++i) {
      if (buffer[i] == '\n') {
        end_of_line();
      } else {
        if (length < sizeof line) line[length++] = buffer[i];
      }
    }
  }
  raw_syscall(SYS_close, fd);
  return refused || read == Read::refused ? last : least;
}

std::uint32_t count_allowed(std::uint32_t last) noexcept {
  unsigned long mask[kMostCpus / (8 * sizeof(unsigned long))] = {};
  const long bytes =
      raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, reinterpret_cast<long>(mask));
  if (bytes <= 0) return last;
  std::uint32_t n = 0;
  for (const unsigned long word : mask)
    n += static_cast<std::uint32_t>(__builtin_popcountl(word));
  return n == 0 ? last : n;
}

}  // namespace

const Processors& processors_at_start() noexcept {
  static constinit Processors at_start{};
  static constinit bool is_read = false;
  if (!is_read) at_start = read_processors({});
  is_read = true;
  return at_start;
}

Processors read_processors(const Processors& last, const char* root) noexcept {
  return {count_allowed(last.allowed), read_quota(last.quota_percent, root)};
}

}  // namespace lockswap
