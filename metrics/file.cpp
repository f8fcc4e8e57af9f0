#include "metrics/file.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>

#include <sys/stat.h>

#include "platform/clock.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "recording/file.h"

namespace lockswap::metrics {
namespace {

// The file does not grow.
constexpr recording::FileKind kFile{.format = kFormat,
                                    .blocks = sizeof(Record),
                                    .mapped = sizeof(Record),
                                    .before = "/",
                                    .behind = ".lockmetrics"};

constinit Running is_running{};

// Returns field 22 of /proc/self/stat, which identifies the process together with its id, or 0 if
// unknown.
std::uint64_t start_time() noexcept {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/stat"),
                              O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  char text[512];
  const long n = raw_syscall(SYS_read, fd, reinterpret_cast<long>(text), sizeof text - 1);
  raw_syscall(SYS_close, fd);
  text[n > 0 ? n : 0] = 0;
  const char* at = std::strrchr(text, ')');  // after the name, which may contain anything
  for (int field = 2; at != nullptr && field < 22; ++field)
    at = std::strchr(at + 1, ' ');
  std::uint64_t value = 0;
  for (at = at == nullptr ? "" : at + 1; *at >= '0' && *at <= '9'; ++at)
    value = value * 10 + static_cast<unsigned>(*at - '0');
  return value;
}

std::uint64_t pid_namespace() noexcept {
  struct stat found {};  // as the kernel has it, too, where we run
  const long error =
      raw_syscall(SYS_newfstatat, AT_FDCWD, reinterpret_cast<long>("/proc/self/ns/pid"),
                  reinterpret_cast<long>(&found), 0);
  return error == 0 ? found.st_ino : 0;
}

void fill_in(Record& r) noexcept {
  Text(r.version, sizeof r.version) << is_running.version;
  Text(r.rwlock, sizeof r.rwlock) << is_running.rwlock;
  Text(r.mutex, sizeof r.mutex) << is_running.mutex;
  r.counts_holds = is_running.counts_holds ? 1 : 0;
  r.started_ns = ns_of(CLOCK_REALTIME);
  r.start_time = start_time();
  r.pid_namespace = pid_namespace();
  r.count.store(1, relaxed);  // relaxed: nobody else has it yet
}

}  // namespace

bool open_file(const char* folder, const Running& running) noexcept {
  is_running = running;
  the_record = reinterpret_cast<Record*>(recording::open_file(kFile, folder));
  if (the_record == nullptr) return false;
  fill_in(*the_record);
  return true;
}

bool reopen_file() noexcept {
  if (!recording::reopen_file(kFile, the_record->head)) return false;
  fill_in(*the_record);
  return true;
}

}  // namespace lockswap::metrics
