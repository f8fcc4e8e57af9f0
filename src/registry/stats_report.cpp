// The report on what stats.cpp counted. It is async-signal-safe: of libc it calls only functions
// that are so, and it needs little stack.
#include <cerrno>  // program_invocation_short_name
#include <cstddef>
#include <fcntl.h>
#include <span>
#include <unistd.h>

#include "platform/atomic.h"
#include "platform/process.h"
#include "platform/step_aside.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/thread.h"
#include "registry/counts.h"
#include "registry/parent.h"
#include "registry/rwlocks.h"
#include "registry/stats.h"

namespace lockswap {
namespace {

constexpr std::size_t kBusiest = 10;

struct Totals {
  std::uint64_t n[kEvents] = {};
  std::uint64_t locks = 0;
  std::uint64_t mutexes = 0;
  std::uint64_t operator[](Event e) const noexcept { return n[static_cast<std::size_t>(e)]; }
};

struct Field {
  const char* name;
  Event event;
};
constexpr Field kFields[] = {
    {"reads", Event::read},
    {"fast_reads", Event::fast_read},
    {"slow_reads_bias_off", Event::slow_read_bias_off},
    {"slow_reads_collision", Event::slow_read_collision},
    {"recursive_reads", Event::recursive_read},
    {"patience_reads", Event::patience_read},
    {"writes", Event::write},
    {"revocations", Event::revocation},
    {"revocation_ns", Event::revocation_ns},
    {"failed_tries", Event::failed_try},
    {"timeouts", Event::timeout},
    {"foreign_releases", Event::foreign_release},
    {"to_glibc", Event::to_glibc},
};

constexpr Field kMutexFields[] = {
    {"acquisitions", Event::mutex_lock},
    {"failed_tries", Event::mutex_failed_try},
    {"timeouts", Event::mutex_timeout},
    {"to_glibc", Event::mutex_to_glibc},
    // Of condition variables, which no mutex has.
    {"waits", Event::cond_wait},
    {"wait_timeouts", Event::cond_timeout},
    {"signals", Event::cond_signal},
    {"broadcasts", Event::cond_broadcast},
};
constexpr auto kOfOneMutex = std::span(kMutexFields).first<4>();

const char* name_of_lock(const Config& config) noexcept { return rwlock_of(config).name; }

// The busiest objects of a kind.
struct Busiest {
  const Counts* at[kBusiest] = {};
  std::size_t count = 0;
};

bool has_bias(const Config& config) noexcept { return rwlock_of(config).biased; }

// fast / reads with six places.
void put_share(Text& out, std::uint64_t fast, std::uint64_t reads) noexcept {
  const auto millionths =
      static_cast<std::uint64_t>(static_cast<double>(fast) * 1e6 / static_cast<double>(reads));
  char places[8];
  for (int i = 6, v = static_cast<int>(millionths % 1'000'000); i-- > 0; v /= 10) {
    places[i] = static_cast<char>('0' + v % 10);
  }
  places[6] = 0;
  out << millionths / 1'000'000 << "." << places;
}

template <class Get>
void put_json_counts(Text& out, std::span<const Field> fields, Get get) noexcept {
  for (const Field& f : fields)
    out << (&f == fields.data() ? "\"" : ",\"") << f.name << "\":" << get(f.event);
}

template <class Get>
void put_json_share(Text& out, const Config& config, Get get) noexcept {
  out << "\"fast_read_share\":";
  if (has_bias(config) && get(Event::read) != 0) {
    put_share(out, get(Event::fast_read), get(Event::read));
  } else {
    out << "null";
  }
}

void put_json_string(Text& out, const char* s) noexcept {
  out << "\"";
  for (; *s != 0; ++s) {
    const char one[2] = {*s, 0};
    const auto c = static_cast<unsigned char>(*s);
    if (c == '"' || c == '\\') {
      out << "\\" << one;
    } else if (c < 0x20) {
      out << "?";
    } else {
      out << one;
    }
  }
  out << "\"";
}

std::uint64_t acquisitions(const Counts& c) noexcept {
  return c.get(Event::read) + c.get(Event::write);
}
std::uint64_t mutex_acquisitions(const Counts& c) noexcept { return c.get(Event::mutex_lock); }

// Most acquisitions first.
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

void put_bypasses(Text& out, const Bypasses& b) noexcept {
  out << b.count << (b.count == 1 ? " object calls" : " objects call")
      << " glibc's lock functions, not these:";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i)
    out << (i == 0 ? " " : ", ") << b.first[i].object << " (" << b.first[i].how << ")";
  out << (b.count > Bypasses::kMost ? ", ...\n" : "\n");
}

void put_json_bypasses(Text& out, const Bypasses* found) noexcept {
  if (found == nullptr) {
    out << "\"bypasses\":null,\"bypassed_by\":null";
    return;
  }
  const Bypasses& b = *found;
  out << "\"bypasses\":" << b.count << ",\"bypassed_by\":[";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i) {
    out << (i == 0 ? "{\"object\":" : ",{\"object\":");
    put_json_string(out, b.first[i].object);
    out << ",\"how\":\"" << b.first[i].how << "\"}";
  }
  out << "]";
}

template <class PutOne>
void put_json_busiest(Text& out, const Busiest& top, const PutOne& put_one) noexcept {
  out << "\"busiest\":[";
  for (std::size_t i = 0; i < top.count; ++i) {
    out << (i == 0 ? "\n" : ",\n") << "{\"address\":\"";
    out.hex(top.at[i]->key.load(relaxed)) << "\",";
    put_one(*top.at[i]);
    out << "}";
  }
  out << "]";
}

// null: they are not chosen, so not counted.
void put_json_mutexes(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  if (config.mutex == nullptr) {
    out << "\"mutexes\":null";
    return;
  }
  const auto total = [&t](Event e) { return t[e]; };
  out << "\"mutexes\":{\"mutex\":\"" << config.mutex
      << "\",\"auto\":" << (config.automatic_mutex ? "true" : "false")
      << ",\"calls\":" << t[Event::mutex_call] << ",\"locks\":" << t.mutexes << ",\n\"totals\":{";
  put_json_counts(out, kMutexFields, total);
  out << "},\n";
  put_json_busiest(out, top, [&out](const Counts& c) {
    put_json_counts(out, kOfOneMutex, [&c](Event e) { return c.get(e); });
  });
  out << "}";
}

void put_json(Text& out, const Config& config, const Totals& t, const Busiest& top,
              const Busiest& top_mutexes, const Bypasses* bypasses) noexcept {
  const auto total = [&t](Event e) { return t[e]; };
  out << "{\"schema\":1,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"pid\":"
      << static_cast<std::uint64_t>(getpid()) << ",\"program\":";
  put_json_string(out, program_invocation_short_name);
  out << ",\"rwlock\":\"" << name_of_lock(config)
      << "\",\"auto\":" << (config.automatic ? "true" : "false") << ",\"wait\":\"" << config.wait
      << "\",\"calls\":" << t[Event::call] << ",\"locks\":" << t.locks << ",";
  put_json_bypasses(out, bypasses);
  out << ",\n\"totals\":{";
  put_json_counts(out, kFields, total);
  out << "},\n";
  put_json_share(out, config, total);
  out << ",\n";
  put_json_busiest(out, top, [&](const Counts& c) {
    const auto one = [&c](Event e) { return c.get(e); };
    put_json_counts(out, kFields, one);
    out << ",";
    put_json_share(out, config, one);
  });
  out << ",\n";
  put_json_mutexes(out, config, t, top_mutexes);
  out << "}\n";
}

bool is_shell(const char* program) noexcept {
  for (const char* shell : {"sh", "bash", "dash", "zsh", "ksh"}) {
    if (same_name(program, shell)) return true;
  }
  return false;
}

void put_text_counts(Text& out, std::span<const Field> fields, const Totals& t) noexcept {
  for (const Field& f : fields) {
    if (t[f.event] != 0) out << "  " << f.name << " " << t[f.event] << "\n";
  }
}

void put_text_mutexes(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  if (config.mutex == nullptr) return;
  out << "lockswap: mutex " << config.mutex << (config.automatic_mutex ? " (auto)" : "") << ": "
      << t[Event::mutex_call] << " calls seen, " << t.mutexes << " mutexes\n";
  put_text_counts(out, kMutexFields, t);
  for (std::size_t i = 0; i < top.count; ++i) {
    out << "  mutex ";
    out.hex(top.at[i]->key.load(relaxed))
        << ": " << top.at[i]->get(Event::mutex_lock) << " acquisitions\n";
  }
}

void put_text_rwlocks(Text& out, const Config& config, const Totals& t,
                      const Busiest& top) noexcept {
  out << "lockswap: " << program_invocation_short_name << " (pid "
      << static_cast<std::uint64_t>(getpid()) << "), rwlock " << name_of_lock(config)
      << (config.automatic ? " (auto)" : "") << ", wait " << config.wait << ": " << t[Event::call]
      << " calls seen, " << t.locks << " locks\n";
  if (t[Event::call] == 0) {
    out << (is_shell(program_invocation_short_name)
                ? "  This is a shell: what it starts reports for itself, if it calls a lock.\n"
                : "  The program takes no pthread reader-writer lock, or bypasses the preload.\n");
    return;
  }
  put_text_counts(out, kFields, t);
  if (has_bias(config) && t[Event::read] != 0) {
    out << "  share of fast reads ";
    put_share(out, t[Event::fast_read], t[Event::read]);
    out << "\n";
  }
  for (std::size_t i = 0; i < top.count; ++i) {
    const Counts& c = *top.at[i];
    out << "  lock ";
    out.hex(c.key.load(relaxed)) << ": " << c.get(Event::read) << " reads, " << c.get(Event::write)
                                 << " writes";
    if (has_bias(config)) {
      out << ", " << c.get(Event::fast_read) << " fast, " << c.get(Event::revocation)
          << " revocations";
    }
    out << "\n";
  }
}

void write_all(int fd, const char* s) noexcept {
  std::size_t n = 0;
  while (s[n] != 0)
    ++n;
  while (n != 0) {
    const long r = raw_syscall(SYS_write, fd, reinterpret_cast<long>(s), static_cast<long>(n));
    if (r == -EINTR) continue;
    if (r <= 0) return;
    s += r;
    n -= static_cast<std::size_t>(r);
  }
}

// One report at a time. A child of a process that was about to write one finds it free.
class Turn {
 public:
  // False: this very thread is writing a report, and a signal handler or a debugger wants another.
  bool take() noexcept {
    const std::uint64_t process = Process::stamp() / Process::kStampTop;
    const std::uint64_t me = process << 32 | thread_id();
    for (std::uint64_t seen = 0; !whose_.compare_exchange(seen, me, acquire);) {
      if (seen == me) return false;
      if (seen >> 32 != process) continue;
      // Not a yield: the other thread may have a lower real-time priority than this one.
      nap(100'000);
      seen = 0;
    }
    return true;
  }
  void give_back() noexcept { whose_.store(0, release); }

 private:
  NativeAtomic<std::uint64_t> whose_;  // process and thread
};

void write_file(const char* name, const char* what) noexcept {
  static constinit char path[4096];
  Text(path, sizeof path) << name << "." << static_cast<std::uint64_t>(getpid());
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                              O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    write_all(2, "lockswap: cannot write LOCKSWAP_STATS to ");
    write_all(2, path);
    write_all(2, "\n");
    return;
  }
  write_all(static_cast<int>(fd), what);
  raw_syscall(SYS_close, fd);
}

// Whether the parent was started with LOCKSWAP_STATS too, and reports. Then the user asked about a
// process above this one: a shell, a shim, a script. dash leaves by _exit, and so without a report.
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
  static constinit Turn turn{};
  static constinit char buffer[16384];
  if (!turn.take()) return;
  if (Counts* table = take_counts(); table != nullptr) {
    const Busiest top = find_busiest(table, acquisitions);
    const Busiest top_mutexes = find_busiest(table, mutex_acquisitions);
    const Totals totals = add_up(table);
    Text out(buffer, sizeof buffer);
    if (saw_nothing(totals, bypasses) && parent_reports()) {
      // No news from a process that nobody asked about.
    } else if (config.stats[0] == 0) {
      put_text_rwlocks(out, config, totals, top);
      put_text_mutexes(out, config, totals, top_mutexes);
      if (bypasses != nullptr && bypasses->count != 0) put_bypasses(out << "  ", *bypasses);
      write_all(2, buffer);
    } else {
      put_json(out, config, totals, top, top_mutexes, bypasses);
      write_file(config.stats, buffer);
    }
    give_back(table);
  } else {
    write_all(2, "lockswap: no memory for the report of LOCKSWAP_STATS\n");
  }
  turn.give_back();
}

}  // namespace lockswap
