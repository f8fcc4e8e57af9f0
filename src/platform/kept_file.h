// A file that the library keeps open. A program may close descriptors that aren't its own, even all
// at once, and open files of its own under their numbers. So the number is a high one, which the
// program would hardly get, and before each use the file is compared with the one that was opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>

#include <sys/stat.h>

#include "platform/syscall.h"
#include "platform/write.h"

namespace lockswap {

class KeptFile {
 public:
  // Takes the descriptor. `fd` < 0 means that there is no file.
  void take(long fd) noexcept { fd_ = fd; }
  bool is_open() const noexcept { return fd_ >= 0; }
  void close() noexcept {
    if (fd_ >= 0) raw_syscall(SYS_close, fd_);
    fd_ = -1;
  }
  // Gives it a high number, which is closed at exec, and remembers which file it is. If there is no
  // such number, as under a small RLIMIT_NOFILE, returns false and keeps the current one.
  bool move_up() noexcept {
    const long high = raw_syscall(SYS_fcntl, fd_, F_DUPFD_CLOEXEC, kFirstKept);
    if (high >= 0) {
      close();
      fd_ = high;
    }
    return find_out(device_, inode_) && high >= 0;
  }

  // Reads the first bytes of the file, as text. Returns false if that fails, or if another file is
  // open under its number.
  bool read(char* text, std::size_t size) const noexcept {
    if (!is_same()) return false;
    const long n =
        raw_syscall(SYS_pread64, fd_, reinterpret_cast<long>(text), static_cast<long>(size - 1), 0);
    if (n <= 0) return false;
    text[n] = 0;
    return true;
  }
  // Writes all of it. Returns false as above.
  bool write(const char* bytes, std::size_t size) const noexcept {
    return is_same() && write_bytes(fd_, bytes, size) == static_cast<long>(size);
  }

 private:
  // Above the numbers that shells and scripts name, and below the limit of select().
  static constexpr long kFirstKept = 700;

  bool find_out(std::uint64_t& device, std::uint64_t& inode) const noexcept {
    struct stat found {};  // as the kernel has it, too, where we run
    if (raw_syscall(SYS_fstat, fd_, reinterpret_cast<long>(&found)) != 0) return false;
    device = found.st_dev;
    inode = found.st_ino;
    return true;
  }
  bool is_same() const noexcept {
    std::uint64_t device = 0, inode = 0;
    return fd_ >= 0 && find_out(device, inode) && device == device_ && inode == inode_;
  }

  long fd_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace lockswap
