#include "profile/file.h"

#include <cstddef>
#include <cstring>

#include <sys/resource.h>

#include "platform/clock.h"
#include "platform/syscall.h"
#include "platform/ticks.h"
#include "profile/parent.h"
#include "recording/file.h"
#include "recording/mappings.h"

namespace lockswap::profile {
namespace {

constinit NativeAtomic<bool> full{false};
constexpr std::uint32_t kChunk = 256u << 10;

constexpr std::uint32_t rounded(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kChunk - 1) / kChunk * kChunk);
}

// Maps as much as the file may grow to.
constexpr recording::FileKind kFile{.format = kFormat,
                                    .blocks = rounded(sizeof(Record)),
                                    .mapped = kMostBytes,
                                    .before = "/",
                                    .behind = ".lockprof"};

// Returns how often threads of this process have voluntarily given up their processors.
std::uint64_t slept() noexcept {
  rusage used{};
  raw_syscall(SYS_getrusage, RUSAGE_SELF, reinterpret_cast<long>(&used));
  return static_cast<std::uint64_t>(used.ru_nvcsw);
}

void fill_in(Record& r) noexcept {
  const ReadTogether start = Ticks::moment();
  r.started_ns = start.ns;
  r.started_ticks = start.ticks;
  r.last_ns.store(r.started_ns, relaxed);
  r.slept_before = slept();
  r.used.store(static_cast<std::uint32_t>((sizeof(Record) + 63) / 64 * 64), relaxed);
  r.allocated.store(rounded(sizeof(Record)), relaxed);
  r.classes.store(1, relaxed);
}

// relaxed, here and below: under the guard.
bool grow(Record& r) noexcept {
  const std::uint32_t allocated = r.allocated.load(relaxed);
  if (allocated + kChunk > kMostBytes) return false;
  if (!recording::grow_file(allocated, kChunk)) return false;
  r.allocated.store(allocated + kChunk, relaxed);
  return true;
}

// Names in brackets are the kernel's, except "[anon:...]", which the program chose. Some compilers
// use a file of memfd_create for code that they may not write where it runs.
bool is_in_no_file(const char* path) noexcept {
  return path[0] == 0 || std::strncmp(path, "[a", 2) == 0 || std::strncmp(path, "/memfd:", 7) == 0;
}

// Called at the end of the process, because it reads /proc/self/maps.
void note_made_code(Record& r) noexcept {
  std::uint32_t count = 0;
  recording::Mappings mappings;
  for (recording::Mapping m; mappings.next(m);) {
    if (!m.is_code || !is_in_no_file(m.path)) continue;
    if (count != 0 && r.made[count - 1].end == m.begin) {
      r.made[count - 1].end = m.end;
    } else if (count < kMostMadeCode) {
      r.made[count++] = {m.begin, m.end};
    }
  }
  r.made_code.store(count, relaxed);
}

}  // namespace

bool open_file(const char* folder) noexcept {
  the_record = reinterpret_cast<Record*>(recording::open_file(kFile, folder));
  if (the_record == nullptr) return false;
  fill_in(*the_record);
  note_whose_file();
  return true;
}

bool reopen_file() noexcept {
  const std::uint32_t counter = the_record->counter;
  const std::uint64_t pair = the_record->pair_ns_256, stack = the_record->stack_ns;
  if (!recording::reopen_file(kFile, the_record->head)) return false;
  full.store(false, relaxed);  // relaxed: the thread that begins the child's world does this
  fill_in(*the_record);
  the_record->counter = counter;
  the_record->pair_ns_256 = pair;
  the_record->stack_ns = stack;
  note_whose_file();
  return true;
}

void close_file() noexcept {
  note_made_code(*the_record);
  the_record->last_ns.store(monotonic_ns(), relaxed);
  the_record->slept.store(slept() - the_record->slept_before, relaxed);
  the_record->head.ended.store(1, relaxed);
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

Live* new_live_in_file() noexcept {
  const std::uint32_t at = take_bytes(sizeof(Live));
  if (at == 0) return nullptr;
  Live* const live = at_offset<Live>(at);
  live->next = record().live.load(relaxed);
  record().live.store(at, release);  // pairs with the reader's load
  return live;
}

}  // namespace lockswap::profile
