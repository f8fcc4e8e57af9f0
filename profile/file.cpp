#include "profile/file.h"

#include <cerrno>
#include <cstddef>
#include <fcntl.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include "platform/clock.h"
#include "platform/output_file.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/ticks.h"
#include "profile/mappings.h"

namespace lockswap::profile {
namespace {

constinit NativeAtomic<bool> full{false};
constinit char folder_of_files[4096] = {};
constinit char file_name[4200] = {};

constexpr std::uint32_t kChunk = 256u << 10;

constexpr std::uint32_t rounded(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kChunk - 1) / kChunk * kChunk);
}

long new_file() noexcept {
  const auto pid = static_cast<std::uint64_t>(raw_syscall(SYS_getpid));
  return open_numbered_file(file_name, rounded(sizeof(Record)), [pid](std::uint64_t n) {
    Text(file_name, sizeof file_name) << folder_of_files << "/" << pid << "." << n << ".lockprof";
  });
}

// The whole of what the file may become; behind its blocks nothing is touched.
Record* map_file(Record* where) noexcept {
  const long fd = new_file();
  if (fd < 0) return nullptr;
  const long r =
      raw_syscall(SYS_mmap, reinterpret_cast<long>(where), kMostBytes, PROT_READ | PROT_WRITE,
                  where != nullptr ? MAP_SHARED | MAP_FIXED : MAP_SHARED, fd, 0);
  raw_syscall(SYS_close, fd);
  return r < 0 && r > -4096 ? nullptr : reinterpret_cast<Record*>(r);
}

// How often threads of this process gave their processors up by themselves, so far.
std::uint64_t slept() noexcept {
  rusage used{};
  raw_syscall(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&used));
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}

void fill_in(Record& r) noexcept {
  r.magic = kMagic;
  r.schema = kSchema;
  r.size = sizeof(Record);
  r.pid = static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  r.parent = static_cast<std::uint32_t>(raw_syscall(SYS_getppid));
  r.started_ns = monotonic_ns();
  r.started_ticks = Ticks::now();
  r.last_ns.store(r.started_ns, relaxed);
  r.slept_before = slept();
  r.used.store(static_cast<std::uint32_t>((sizeof(Record) + 63) / 64 * 64), relaxed);
  r.allocated.store(rounded(sizeof(Record)), relaxed);
  r.classes.store(1, relaxed);
  Text(r.program, sizeof r.program)
      << (program_invocation_short_name != nullptr ? program_invocation_short_name : "");
  const long n = raw_syscall(SYS_readlinkat, AT_FDCWD, reinterpret_cast<long>("/proc/self/exe"),
                             reinterpret_cast<long>(r.exe), sizeof r.exe - 1);
  r.exe[n > 0 ? n : 0] = 0;
}

// relaxed, here and below: under the guard.
bool grow(Record& r) noexcept {
  const std::uint32_t allocated = r.allocated.load(relaxed);
  if (allocated + kChunk > kMostBytes) return false;
  // By its name: a descriptor that stays open is a program's to close.
  const long fd = open_own_file(file_name, O_RDWR);
  if (fd < 0) return false;
  const bool grown = allocate_blocks(fd, allocated, kChunk);
  raw_syscall(SYS_close, fd);
  if (grown) r.allocated.store(allocated + kChunk, relaxed);
  return grown;
}

}  // namespace

bool open_file(const char* folder) noexcept {
  // Absolute, since the program may change its folder before it forks.
  Text text(folder_of_files, sizeof folder_of_files);
  if (folder[0] != '/') {
    char here[2048] = {};
    if (raw_syscall(SYS_getcwd, reinterpret_cast<long>(here), sizeof here) > 0) text << here << "/";
  }
  text << folder;
  the_record = map_file(nullptr);
  if (the_record == nullptr) return false;
  fill_in(*the_record);
  return true;
}

bool reopen_file() noexcept {
  const std::uint32_t counter = the_record->counter;
  const std::uint64_t pair = the_record->pair_ns_256, stack = the_record->stack_ns;
  if (map_file(the_record) == nullptr) return false;
  full.store(false, relaxed);  // relaxed: the thread that begins the child's world does this
  fill_in(*the_record);
  the_record->counter = counter;
  the_record->pair_ns_256 = pair;
  the_record->stack_ns = stack;
  return true;
}

void close_file() noexcept {
  note_made_code(*the_record);
  the_record->last_ns.store(monotonic_ns(), relaxed);
  the_record->slept.store(slept() - the_record->slept_before, relaxed);
  the_record->ended.store(1, relaxed);
}

bool is_full() noexcept { return full.load(relaxed); }  // relaxed: a hint

std::uint32_t take_bytes(std::uint32_t bytes) noexcept {
  if (is_full()) return 0;
  Record& r = record();
  bytes = (bytes + 63) / 64 * 64;
  const std::uint32_t begin = r.used.load(relaxed), end = begin + bytes;
  if (end > r.allocated.load(relaxed) && !grow(r)) {
    full.store(true, relaxed);
    return 0;
  }
  r.used.store(end, relaxed);
  return begin;
}

}  // namespace lockswap::profile
