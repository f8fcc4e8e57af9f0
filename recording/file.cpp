#include "recording/file.h"

#include <cerrno>  // program_invocation_short_name
#include <fcntl.h>

#include <sys/mman.h>

#include "platform/output_file.h"
#include "platform/syscall.h"
#include "platform/text.h"

namespace lockswap::recording {
namespace {

constinit char place_of_files[4096] = {};
constinit char name[4200] = {};
constinit int error = 0;

// Maps the file at `at`, if that is not nullptr.
Head* map_new_file(const FileKind& kind, Head* at) noexcept {
  const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
  const long fd = open_numbered_file(name, kind.blocks, [&](std::uint64_t n) {
    Text(name, sizeof name) << place_of_files << kind.before << pid << "." << n << kind.behind;
  });
  if (fd < 0) {
    error = static_cast<int>(-fd);
    return nullptr;
  }
  const long r =
      raw_syscall(SYS_mmap, reinterpret_cast<long>(at), kind.mapped, PROT_READ | PROT_WRITE,
                  at != nullptr ? MAP_SHARED | MAP_FIXED : MAP_SHARED, fd, 0);
  raw_syscall(SYS_close, fd);
  if (r >= 0 || r <= -4096) return reinterpret_cast<Head*>(r);
  error = static_cast<int>(-r);
  return nullptr;
}

void fill_in(Head& head, const Format& format) noexcept {
  head.magic = format.magic;
  head.schema = format.schema;
  head.size = format.size;
  head.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  head.parent = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  Text(head.program, sizeof head.program)
      << (program_invocation_short_name != nullptr ? program_invocation_short_name : "");
  const long n = raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                             reinterpret_cast<long>(head.exe), sizeof head.exe - 1);
  head.exe[n > 0 ? n : 0] = 0;
}

}  // namespace

Head* open_file(const FileKind& kind, const char* where) noexcept {
  // Absolute, because the program may change its working directory before it forks.
  Text text(place_of_files, sizeof place_of_files);
  if (where[0] != '/') {
    char here[2048] = {};
    if (raw_syscall(SYS_getcwd, reinterpret_cast<long>(here), sizeof here) > 0) text << here << "/";
  }
  text << where;
  Head* const head = map_new_file(kind, nullptr);
  if (head != nullptr) fill_in(*head, kind.format);
  return head;
}

bool reopen_file(const FileKind& kind, Head& at) noexcept {
  if (map_new_file(kind, &at) == nullptr) return false;
  fill_in(at, kind.format);
  return true;
}

bool grow_file(std::uint64_t begin, std::uint64_t bytes) noexcept {
  // Opened by name, because the program might close a descriptor that stays open.
  const long fd = open_own_file(name, O_RDWR);
  if (fd < 0) return false;
  const bool grown = allocate_blocks(fd, begin, bytes);
  raw_syscall(SYS_close, fd);
  return grown;
}

int file_error() noexcept { return error; }

const char* file_name() noexcept { return name; }

}  // namespace lockswap::recording
