// Reports what stats.cpp has counted. It is async-signal-safe: it calls only such functions of
// libc, and needs little stack.
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

#include "platform/atomic.h"
#include "platform/latch.h"
#include "platform/output_file.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/write.h"
#include "report/parent.h"
#include "report/report.h"
#include "report/stats_forms.h"
#include "stats/counts.h"

namespace lockswap {
namespace {

std::uint64_t acquisitions(const Counts& c) noexcept {
  return c.get(Event::read) + c.get(Event::write);
}
std::uint64_t mutex_acquisitions(const Counts& c) noexcept { return c.get(Event::mutex_lock); }

// Sorts by the number of acquisitions, largest first.
template <class Acquisitions>
Busiest find_busiest(const Counts* table, const Acquisitions& of) noexcept {
  Busiest top;
  for (std::size_t i = 0; i < kLocks - 1; ++i) {
    const Counts& c = table[i];
    if (c.key.load(relaxed) == 0 || of(c) == 0) continue;
    if (top.count == kBusiest && of(*top.at[kBusiest - 1]) >= of(c)) continue;
    std::size_t at = top.count < kBusiest ? top.count++ : kBusiest - 1;
    for (; at > 0 && of(*top.at[at - 1]) < of(c); --at)
      top.at[at] = top.at[at - 1];
    top.at[at] = &c;
  }
  return top;
}

Totals add_up(const Counts* table) noexcept {
  Totals t;
  for (std::size_t i = 0; i < kLocks; ++i) {
    const Counts& c = table[i];
    if (i < kLocks - 1 && c.key.load(relaxed) == 0) continue;
    if (i < kLocks - 1 && c.get(Event::call) != 0) ++t.locks;
    if (i < kLocks - 1 && c.get(Event::mutex_call) != 0) ++t.mutexes;
    for (std::size_t e = 0; e < kEvents; ++e)
      t.n[e] += c.n[e].load(relaxed);
  }
  return t;
}

bool write_all(int fd, const char* s) noexcept {
  std::size_t n = 0;
  while (s[n] != 0)
    ++n;
  while (n != 0) {
    const long r = write_bytes(fd, s, n);
    if (r == -EINTR) continue;
    if (r <= 0) return false;
    s += r;
    n -= static_cast<std::size_t>(r);
  }
  return true;
}

void write_file(const char* name, const char* what) noexcept {
  static constinit char path[4096];
  Text(path, sizeof path) << name << "." << static_cast<std::uint64_t>(getpid());
  const long fd = open_output_file(path, O_WRONLY);
  bool is_written = false;
  if (fd >= 0) {
    // Not O_TRUNC, because the existing file may turn out not to be ours.
    is_written = raw_syscall(SYS_ftruncate, fd, 0) == 0 && write_all(static_cast<int>(fd), what);
    // Some file systems report only now that they are full. Half a report is useless.
    is_written = raw_syscall(SYS_close, fd) == 0 && is_written;
    if (!is_written) raw_syscall(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(path), 0);
  }
  if (is_written) return;
  write_all(2, "lockswap: cannot write LOCKSWAP_STATS to ");
  write_all(2, path);
  write_all(2, "\n");
}

// Returns whether the parent was started with LOCKSWAP_STATS as well, and writes its own report.
// Then the user asked about a process above this one: a shell, a shim, a script. dash exits by
// _exit, and so without a report.
bool parent_reports() noexcept { return !parent_is_dash() && parent_began_with("LOCKSWAP_STATS="); }

bool saw_nothing(const Totals& t, const Bypasses* bypasses) noexcept {
  if (bypasses != nullptr && bypasses->count != 0) return false;
  for (std::size_t e = 0; e < kEvents; ++e) {
    if (t.n[e] != 0) return false;
  }
  return true;
}

}  // namespace

void report_bypasses(const Bypasses& bypasses) noexcept {
  if (bypasses.count == 0) return;
  char line[2560];
  Text text(line, sizeof line);
  put_bypasses(text << "lockswap: ", bypasses);
  write_all(2, line);
}

void report_stats(const Config& config, const Bypasses* bypasses) noexcept {
  static constinit Latch turn{};
  static constinit char buffer[65536];
  // This thread may already be writing a report when a signal handler or a debugger asks for
  // another.
  if (!turn.take()) return;
  if (Counts* table = take_counts(); table != nullptr) {
    const Busiest top = find_busiest(table, acquisitions);
    const Busiest top_mutexes = find_busiest(table, mutex_acquisitions);
    const Totals totals = add_up(table);
    Text out(buffer, sizeof buffer);
    if (saw_nothing(totals, bypasses) && parent_reports()) {
      // A process that nobody asked about reports nothing.
    } else if (config.stats[0] == 0) {
      put_text_rwlocks(out, config, totals, top);
      put_text_mutexes(out, config, totals, top_mutexes);
      put_text_policy(out, config);
      if (bypasses != nullptr && bypasses->count != 0) put_bypasses(out << "  ", *bypasses);
      write_all(2, buffer);
    } else {
      put_json(out, config, totals, top, top_mutexes, bypasses);
      write_file(config.stats, buffer);
    }
    give_back(table);
  } else {
    write_all(
        2, "lockswap: no memory for the report of LOCKSWAP_STATS; raise the limit (ulimit -v)\n");
  }
  turn.give_back();
}

}  // namespace lockswap
