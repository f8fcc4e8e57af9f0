#include "fuzz/disturb.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>

#include "fuzz/live.h"
#include "platform/atomic.h"
#include "platform/kept_file.h"
#include "platform/output_file.h"
#include "platform/say.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace lockswap::fuzz {
namespace {

constexpr std::uint64_t kMain = 1;
constinit NativeAtomic<std::uint64_t> strangers{0};
constinit KeptFile trace;
constinit NativeAtomic<bool> is_cut_off{false};

Me& me() noexcept {
  Me& own = per_thread<Me>;
  if (own.name != 0) return own;
  // The main thread, or one that pthread_create did not make. Those get names in the order in which
  // they come here.
  const bool is_main = raw_syscall(SYS_getpid) == raw_syscall(SYS_gettid);
  if (is_main) {
    own.name = kMain;
  } else {
    const std::uint64_t number = strangers.fetch_add(1, relaxed);
    own.name = mix(~number);
    own.base = number * kPointsPerThread;
  }
  return own;
}

// Restores the processor mask afterwards, so this only moves the thread and does not confine it.
void migrate(std::uint32_t number) noexcept {
  constexpr std::size_t kWords = 16;
  std::uint64_t allowed[kWords] = {};
  const long bytes =
      raw_syscall(SYS_sched_getaffinity, 0, sizeof allowed, reinterpret_cast<long>(allowed));
  if (bytes <= 0) return;
  unsigned all = 0;
  for (const std::uint64_t word : allowed)
    all += static_cast<unsigned>(std::popcount(word));
  if (all < 2) return;
  unsigned left = number % all;
  for (std::size_t cpu = 0; cpu < kWords * 64; ++cpu) {
    if ((allowed[cpu / 64] >> cpu % 64 & 1) == 0 || left-- != 0) continue;
    std::uint64_t one[kWords] = {};
    one[cpu / 64] = std::uint64_t{1} << cpu % 64;
    raw_syscall(SYS_sched_setaffinity, 0, bytes, reinterpret_cast<long>(one));
    raw_syscall(SYS_sched_setaffinity, 0, bytes, reinterpret_cast<long>(allowed));
    return;
  }
}

void write_down(const Me& own, Point point, Decision d) noexcept {
  char line[128];
  Text text(line, sizeof line);
  text << own.name << " " << own.count << " " << static_cast<std::uint64_t>(point) << " "
       << static_cast<std::uint64_t>(d.act) << " " << std::uint64_t{d.amount} << "\n";
  std::size_t length = 0;
  while (line[length] != 0)
    ++length;
  if (trace.write(line, length)) return;
  if (is_cut_off.exchange(true, relaxed)) return;
  say("lockswap fuzz: the trace is incomplete, because its file can no longer be written\n");
}

}  // namespace

bool trace_to(const char* file) noexcept {
  // Programs that this one starts write to the same file.
  trace.take(open_output_file(file, O_WRONLY | O_APPEND));
  if (!trace.is_open()) return false;
  trace.move_up();  // leaves the program's files the numbers that they would have had
  return true;
}

Me next_child() noexcept {
  Me& own = me();
  const std::uint64_t base = own.base + own.children * kPointsPerThread;
  return {mix(own.name ^ mix(++own.children)) | 2, 0, 0, base};  // never 0, nor the main thread's
}
void begin_thread(const Me& child) noexcept {
  per_thread<Me> = child;
  pass(Point::begin);
}

std::uint64_t my_turn_number() noexcept {
  const Me& own = me();
  return turn_number(settings, own.name, own.count);
}

// Makes only system calls, so errno stays, and a lock function does not become a cancellation
// point.
bool pass(Point point) noexcept {
  Me& own = me();
  const Decision d = decide(settings, own.name, own.base, own.count, point);
  if (trace.is_open()) write_down(own, point, d);
  ++own.count;
  count_point();
  switch (d.act) {
    case Act::nothing:
      return false;
    case Act::spurious:
      return true;
    case Act::yield:
      raw_syscall(SYS_sched_yield);
      return false;
    case Act::migrate:
      migrate(d.amount);
      return false;
    case Act::delay: {
      const timespec time{d.amount / 1'000'000, static_cast<long>(d.amount % 1'000'000) * 1000};
      // A signal may end it early.
      raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&time));
      return false;
    }
  }
  return false;
}

}  // namespace lockswap::fuzz
