#include "recording/mappings.h"

#include <cstddef>
#include <fcntl.h>

#include "platform/syscall.h"

namespace lockswap::recording {

// The first file is empty after the first thread has ended, and Linux before 3.17 lacks the other.
Mappings::Mappings() noexcept {
  if (!open("/proc/self/maps")) open("/proc/thread-self/maps");
}
Mappings::~Mappings() { close(); }

void Mappings::close() noexcept {
  if (fd_ >= 0) raw_syscall(SYS_close, fd_);
}
bool Mappings::open(const char* path) noexcept {
  close();
  fd_ = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  return read_more();
}

// Returns false at the end.
bool Mappings::read_more() noexcept {
  at_ = 0;
  size_ = fd_ < 0 ? 0 : raw_syscall(SYS_read, fd_, reinterpret_cast<long>(buffer_), sizeof buffer_);
  if (size_ < 0) size_ = 0;
  return size_ != 0;
}

char Mappings::next_char() noexcept { return at_ == size_ && !read_more() ? '\0' : buffer_[at_++]; }

// Reads a number, and the character after it.
std::uint64_t Mappings::hex(char& behind) noexcept {
  std::uint64_t n = 0;
  for (;;) {
    behind = next_char();
    if (behind >= '0' && behind <= '9') {
      n = n * 16 + static_cast<unsigned>(behind - '0');
    } else if (behind >= 'a' && behind <= 'f') {
      n = n * 16 + static_cast<unsigned>(behind - 'a' + 10);
    } else {
      return n;
    }
  }
}

std::uint64_t Mappings::decimal(char& behind) noexcept {
  std::uint64_t n = 0;
  for (behind = next_char(); behind >= '0' && behind <= '9'; behind = next_char())
    n = n * 10 + static_cast<unsigned>(behind - '0');
  return n;
}

char Mappings::behind_word() noexcept {
  char c = next_char();
  while (c != 0 && c != ' ' && c != '\n')
    c = next_char();
  return c;
}

// A line is: BEGIN-END PERMISSIONS OFFSET DEVICE INODE   PATH
bool Mappings::next(Mapping& into) noexcept {
  char c = 0;
  into.begin = hex(c);
  if (c != '-') return false;
  into.end = hex(c);
  next_char();
  next_char();
  into.is_code = next_char() == 'x';
  into.is_shared = next_char() == 's';
  behind_word();
  into.offset = hex(c);
  into.device = hex(c) << 32;
  into.device |= hex(c);
  into.inode = decimal(c);
  while (c == ' ')
    c = next_char();
  std::size_t n = 0;
  for (; c != 0 && c != '\n'; c = next_char()) {
    if (n + 1 < sizeof into.path) into.path[n++] = c;
  }
  into.path[n] = 0;
  return true;
}

}  // namespace lockswap::recording
