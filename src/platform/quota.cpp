#include "platform/quota.h"

#include <cerrno>
#include <fcntl.h>

#include "platform/syscall.h"
#include "platform/text.h"

namespace lockswap {
namespace {

constexpr std::size_t kLongestPath = 1024;
constexpr std::uint64_t kMost = std::uint64_t{1} << 50;  // 100 times this does not overflow

enum class Read : std::uint8_t { done, absent, refused };

Read read_some(long fd, char* buffer, std::size_t size, std::size_t& got) noexcept {
  const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(buffer), static_cast<long>(size));
  got = n > 0 ? static_cast<std::size_t>(n) : 0;
  return n >= 0 ? Read::done : Read::refused;
}

long open_to_read(const char* path) noexcept {
  return raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
}

// Reads the first bytes of a file as text. The file stays open in `file`.
Read read_short(const char* path, char* text, std::size_t size, KeptFile& file) noexcept {
  const long fd = open_to_read(path);
  if (fd == -ENOENT || fd == -ENOTDIR) return Read::absent;
  if (fd < 0) return Read::refused;
  file.take(fd);
  std::size_t got = 0;
  const Read read = read_some(fd, text, size - 1, got);
  text[got] = 0;
  return read;
}

// Moves `s` past the number. Returns false if there is none.
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

// These parse the contents of the files. "max" or a negative number means that there is no quota.
std::uint64_t percent_v2(const char* text) noexcept {
  std::uint64_t quota = 0, period = 0;
  return read_number(text, quota) && read_number(text, period) ? percent(quota, period) : kNoQuota;
}
bool percent_v1(const char* quota_text, const char* period_text, std::uint64_t& value) noexcept {
  std::uint64_t quota = 0, period = 0;
  value = kNoQuota;
  if (!read_number(quota_text, quota)) return true;
  if (!read_number(period_text, period)) return false;
  value = percent(quota, period);
  return true;
}

constexpr std::size_t kLongestText = 64;

Read open_v2(const char* folder, QuotaFiles& files) noexcept {
  char path[kLongestPath];
  char text[kLongestText] = {};
  Text(path, sizeof path) << folder << "/cpu.max";
  const Read read = read_short(path, text, sizeof text, files.quota);
  if (read == Read::done) files.percent = percent_v2(text);
  return read;
}

Read open_v1(const char* folder, QuotaFiles& files) noexcept {
  char path[kLongestPath];
  char quota[kLongestText] = {}, period[kLongestText] = {};
  files.is_v1 = true;
  Text(path, sizeof path) << folder << "/cpu.cfs_quota_us";
  if (const Read read = read_short(path, quota, sizeof quota, files.quota); read != Read::done) {
    return read;
  }
  Text(path, sizeof path) << folder << "/cpu.cfs_period_us";
  const Read read = read_short(path, period, sizeof period, files.period);
  const bool is_sound = percent_v1(quota, period, files.percent);
  return read == Read::done && is_sound ? Read::done : Read::refused;
}

struct Quota {
  Read read = Read::absent;
  std::uint64_t value = kNoQuota;
};

Quota quota_of(const char* folder, bool is_v2, KeptQuota* keeps) noexcept {
  QuotaFiles files;
  const Read read = is_v2 ? open_v2(folder, files) : open_v1(folder, files);
  const Quota found{read, read == Read::done ? files.percent : kNoQuota};
  if (read == Read::done && keeps != nullptr) {
    keeps->offer(files);
  } else {
    files.close();
  }
  return found;
}

// Returns the smallest quota of the group and those above it, up to the first `top` bytes of
// `folder`, which is shortened on the way. A container may see its own group as the top, under a
// name that does not exist here: then the folders of that name are absent, and the top has it.
Quota smallest(char* folder, std::size_t top, bool is_v2, KeptQuota* keeps) noexcept {
  Quota all;
  std::size_t end = top;
  while (folder[end] != 0)
    ++end;
  for (;;) {
    const Quota q = quota_of(folder, is_v2, keeps);
    if (q.read == Read::refused) return q;
    if (q.read == Read::done) all = {q.read, q.value < all.value ? q.value : all.value};
    if (end <= top) return all;
    while (end > top && folder[--end] != '/') {}
    folder[end] = 0;
  }
}

// Returns whether `name` is in a list such as "cpu,cpuacct", which ends at `end`.
bool has_cpu(const char* s, const char* end) noexcept {
  for (const char* word = s; s <= end; ++s) {
    if (s != end && *s != ',') continue;
    if (s - word == 3 && word[0] == 'c' && word[1] == 'p' && word[2] == 'u') return true;
    word = s + 1;
  }
  return false;
}

// A line of /proc/self/cgroup, number:controllers:path.
Quota quota_of_line(char* line, const char* root, KeptQuota* keeps) noexcept {
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
  // "/" is the top itself. "/.." is a group that is outside of what this process may see.
  const bool is_below = s[0] == '/' && s[1] != 0 && !(s[1] == '.' && s[2] == '.');
  if (is_below) out << s;
  return smallest(folder, top, is_v2, keeps);
}

}  // namespace

bool QuotaFiles::read(std::uint64_t& value) const noexcept {
  char text[kLongestText] = {}, period_text[kLongestText] = {};
  if (!quota.read(text, sizeof text)) return false;
  if (is_v1) {
    return period.read(period_text, sizeof period_text) && percent_v1(text, period_text, value);
  }
  value = percent_v2(text);
  return true;
}

void KeptQuota::offer(QuotaFiles files) noexcept {
  if (!nearest_.quota.is_open()) {
    nearest_ = files;
    return;
  }
  const std::uint64_t least = smallest_.quota.is_open() ? smallest_.percent : nearest_.percent;
  if (files.percent < least) {
    if (smallest_.quota.is_open() && smallest_.percent < others_) others_ = smallest_.percent;
    smallest_.close();
    smallest_ = files;
  } else {
    if (files.percent < others_) others_ = files.percent;
    files.close();
  }
}

bool QuotaFiles::move_up() noexcept {
  if (!quota.is_open()) return true;
  return quota.move_up() && (!is_v1 || period.move_up());
}

void KeptQuota::keep() noexcept {
  if (!nearest_.move_up() || !smallest_.move_up()) close();
}

std::uint64_t KeptQuota::again(std::uint64_t last) noexcept {
  if (!is_kept()) return last;
  std::uint64_t near = kNoQuota, small = kNoQuota;
  if (!nearest_.read(near) || (smallest_.quota.is_open() && !smallest_.read(small))) {
    *this = {};  // not closed, since the descriptors may be the program's by now
    return last;
  }
  const std::uint64_t of_both = near < small ? near : small;
  return of_both < others_ ? of_both : others_;
}

void KeptQuota::close() noexcept {
  nearest_.close();
  smallest_.close();
}

std::uint64_t read_quota(std::uint64_t last, const char* root, KeptQuota* keeps) noexcept {
  char path[kLongestPath];
  Text(path, sizeof path) << root << "/proc/self/cgroup";
  const long fd = open_to_read(path);
  if (fd < 0) return last;
  std::uint64_t least = kNoQuota;
  bool refused = false;
  char line[kLongestPath];
  std::size_t length = 0;
  const auto end_of_line = [&] {
    if (length < sizeof line) {  // longer paths can't be opened here
      line[length] = 0;
      const Quota q = quota_of_line(line, root, keeps);
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
  refused = refused || read == Read::refused;
  if (keeps != nullptr) {
    if (refused) {
      keeps->close();
    } else {
      keeps->keep();
    }
  }
  return refused ? last : least;
}

}  // namespace lockswap
