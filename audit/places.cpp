#include "audit/places.h"

#include <cstddef>
#include <fcntl.h>

#include "platform/syscall.h"

namespace lockswap::audit {
namespace {

// Reads a file a character at a time.
class Stream {
 public:
  explicit Stream(const char* path) noexcept
      : fd_(raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC)) {
  }
  ~Stream() {
    if (fd_ >= 0) raw_syscall(SYS_close, fd_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // The next character, or 0 at the end.
  char next() noexcept {
    if (at_ == size_) {
      size_ =
          fd_ < 0 ? 0 : raw_syscall(SYS_read, fd_, reinterpret_cast<long>(buffer_), sizeof buffer_);
      at_ = 0;
      if (size_ <= 0) {
        size_ = 0;
        return 0;
      }
    }
    return buffer_[at_++];
  }

 private:
  long fd_;
  long at_ = 0;
  long size_ = 0;
  char buffer_[512] = {};
};

// A hexadecimal number and the character behind it.
std::uint64_t hex(Stream& in, char& behind) noexcept {
  std::uint64_t n = 0;
  for (;;) {
    behind = in.next();
    if (behind >= '0' && behind <= '9') {
      n = n * 16 + static_cast<unsigned>(behind - '0');
    } else if (behind >= 'a' && behind <= 'f') {
      n = n * 16 + static_cast<unsigned>(behind - 'a' + 10);
    } else {
      return n;
    }
  }
}

void skip_word(Stream& in) noexcept {
  for (char c = in.next(); c != 0 && c != ' ' && c != '\n'; c = in.next()) {}
}

}  // namespace

// A line is: START-END PERMISSIONS OFFSET DEVICE INODE   PATH
void locate(std::uint64_t address, Place& into) noexcept {
  into.address = address;
  into.offset = 0;
  into.file[0] = 0;
  if (address == 0) return;
  Stream in("/proc/self/maps");
  for (;;) {
    char c = 0;
    const std::uint64_t start = hex(in, c);
    if (c != '-') return;
    const std::uint64_t end = hex(in, c);
    skip_word(in);
    const std::uint64_t offset = hex(in, c);
    skip_word(in);
    skip_word(in);
    do {
      c = in.next();
    } while (c == ' ');
    const bool here = start <= address && address < end && c == '/';
    for (std::size_t n = 0; c != 0 && c != '\n'; c = in.next()) {
      if (!here || n + 1 >= sizeof into.file) continue;
      into.file[n++] = c;
      into.file[n] = 0;
    }
    if (here) into.offset = address - start + offset;
    if (here || c == 0) return;
  }
}

}  // namespace lockswap::audit
