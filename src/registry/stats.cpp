#include "registry/stats.h"

#include <cerrno>  // program_invocation_short_name
#include <cstddef>
#include <fcntl.h>
#include <unistd.h>

#include "platform/atomic.h"
#include "platform/memory.h"
#include "platform/syscall.h"
#include "platform/thread.h"
#include "registry/text.h"

namespace lockswap {
namespace {

constexpr std::size_t kEvents = static_cast<std::size_t>(Event::kCount);
constexpr std::size_t kLocks = 1 << 16;    // in the table of all locks; the last one is "others"
constexpr std::size_t kLocksInBlock = 64;  // in a thread's block
constexpr std::size_t kBusiest = 10;

using Word = NativeAtomic<std::uint64_t>;

// All words are atomics because the report reads what running threads write. All orders are
// relaxed: they are statistics.
struct Counts {
  Word key;  // the lock's address; 0 = free
  Word n[kEvents];

  void add(Event e, std::uint64_t by) noexcept {
    n[static_cast<std::size_t>(e)].fetch_add(by, relaxed);
  }
  std::uint64_t get(Event e) const noexcept { return n[static_cast<std::size_t>(e)].load(relaxed); }
};

struct Block {
  NativeAtomic<std::uint32_t> used;
  Block* next;
  Counts counts[kLocksInBlock];
};

Counts* all_locks = nullptr;  // kLocks of them
constinit NativeAtomic<Block*> blocks{};

struct MyBlock {
  Block* block;
};

std::size_t hash(std::uint64_t key) noexcept { return (key * 0x9E3779B97F4A7C15u) >> 40; }

Counts& counts_of(std::uint64_t key) noexcept {
  for (std::size_t n = 0, i = hash(key); n < 64; ++n, ++i) {
    Counts& c = all_locks[i % (kLocks - 1)];
    std::uint64_t seen = c.key.load(relaxed);
    if (seen == key || (seen == 0 && c.key.compare_exchange(seen, key, relaxed)) || seen == key) {
      return c;
    }
  }
  return all_locks[kLocks - 1];
}

void hand_over(Counts& from) noexcept {
  const std::uint64_t key = from.key.load(relaxed);
  if (key == 0) return;
  Counts& to = counts_of(key);
  for (std::size_t e = 0; e < kEvents; ++e) {
    if (const std::uint64_t n = from.n[e].exchange(0, relaxed); n != 0)
      to.n[e].fetch_add(n, relaxed);
  }
}

void hand_over(Block& block) noexcept {
  for (Counts& c : block.counts)
    hand_over(c);
}

void on_thread_exit() noexcept {
  MyBlock& mine = per_thread<MyBlock>;
  if (mine.block == nullptr) return;
  hand_over(*mine.block);
  mine.block->used.store(0, release);  // pairs with my_block: the next owner finds it handed over
  mine.block = nullptr;
}

Block* new_block() noexcept {
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next) {
    std::uint32_t no = 0;
    if (b->used.load(relaxed) == 0 && b->used.compare_exchange(no, 1, acquire)) return b;
  }
  auto* b = static_cast<Block*>(map_pages(sizeof(Block)));
  if (b == nullptr) return nullptr;
  b->used.store(1, relaxed);
  Block* head = blocks.load(relaxed);
  do {
    b->next = head;
  } while (!blocks.compare_exchange(head, b, release));
  return b;
}

Block* my_block() noexcept {
  MyBlock& mine = per_thread<MyBlock>;
  if (mine.block == nullptr) [[unlikely]] {
    // A thread that will not run its exit hook would keep the block for ever.
    if (!ThreadExit::arm()) return nullptr;
    mine.block = new_block();
  }
  return mine.block;
}

// --- the report

struct Totals {
  std::uint64_t n[kEvents] = {};
  std::uint64_t locks = 0;
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
    {"writes", Event::write},
    {"revocations", Event::revocation},
    {"revocation_ns", Event::revocation_ns},
    {"failed_tries", Event::failed_try},
    {"timeouts", Event::timeout},
    {"foreign_releases", Event::foreign_release},
    {"to_glibc", Event::to_glibc},
};

bool has_bias(const Config& config) noexcept {
  const char* n = config.rwlock;
  return n != nullptr && n[0] == 'b' && n[1] == 'r';
}

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
void put_json_counts(Text& out, Get get) noexcept {
  for (const Field& f : kFields) {
    out << (f.event == Event::read ? "\"" : ",\"") << f.name << "\":" << get(f.event);
  }
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

// The busiest locks, most acquisitions first.
std::size_t find_busiest(const Counts* (&top)[kBusiest]) noexcept {
  std::size_t n = 0;
  for (std::size_t i = 0; i < kLocks - 1; ++i) {
    const Counts& c = all_locks[i];
    if (c.key.load(relaxed) == 0 || acquisitions(c) == 0) continue;
    if (n == kBusiest && acquisitions(*top[n - 1]) >= acquisitions(c)) continue;
    std::size_t at = n < kBusiest ? n++ : n - 1;
    for (; at > 0 && acquisitions(*top[at - 1]) < acquisitions(c); --at)
      top[at] = top[at - 1];
    top[at] = &c;
  }
  return n;
}

Totals add_up() noexcept {
  Totals t;
  for (std::size_t i = 0; i < kLocks; ++i) {
    const Counts& c = all_locks[i];
    if (i < kLocks - 1 && c.key.load(relaxed) == 0) continue;
    if (i < kLocks - 1) ++t.locks;
    for (std::size_t e = 0; e < kEvents; ++e)
      t.n[e] += c.n[e].load(relaxed);
  }
  return t;
}

void put_bypasses(Text& out, const Bypasses& b) noexcept {
  out << b.count << (b.count == 1 ? " object calls" : " objects call")
      << " glibc's rwlock functions, not these:";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i)
    out << (i == 0 ? " " : ", ") << b.first[i].object << " (" << b.first[i].how << ")";
  out << (b.count > Bypasses::kMost ? ", ...\n" : "\n");
}

void put_json_bypasses(Text& out, const Bypasses& b) noexcept {
  out << "\"bypasses\":" << b.count << ",\"bypassed_by\":[";
  for (std::size_t i = 0; i < b.count && i < Bypasses::kMost; ++i) {
    out << (i == 0 ? "{\"object\":" : ",{\"object\":");
    put_json_string(out, b.first[i].object);
    out << ",\"how\":\"" << b.first[i].how << "\"}";
  }
  out << "]";
}

void put_json(Text& out, const Config& config, const Totals& t, const Counts* const* top,
              std::size_t count, const Bypasses& bypasses) noexcept {
  const auto total = [&t](Event e) { return t[e]; };
  out << "{\"schema\":1,\"lockswap\":\"" LOCKSWAP_VERSION "\",\"pid\":"
      << static_cast<std::uint64_t>(getpid()) << ",\"program\":";
  put_json_string(out, program_invocation_short_name);
  out << ",\"rwlock\":\"" << (config.rwlock == nullptr ? "pthread" : config.rwlock)
      << "\",\"wait\":\"" << config.wait << "\",\"calls\":" << t[Event::call]
      << ",\"locks\":" << t.locks << ",";
  put_json_bypasses(out, bypasses);
  out << ",\n\"totals\":{";
  put_json_counts(out, total);
  out << "},\n";
  put_json_share(out, config, total);
  out << ",\n\"busiest\":[";
  for (std::size_t i = 0; i < count; ++i) {
    const auto one = [&](Event e) { return top[i]->get(e); };
    out << (i == 0 ? "\n" : ",\n") << "{\"address\":\"";
    out.hex(top[i]->key.load(relaxed)) << "\",";
    put_json_counts(out, one);
    out << ",";
    put_json_share(out, config, one);
    out << "}";
  }
  out << "]}\n";
}

void put_text(Text& out, const Config& config, const Totals& t, const Counts* const* top,
              std::size_t count) noexcept {
  out << "lockswap: " << program_invocation_short_name << " (pid "
      << static_cast<std::uint64_t>(getpid()) << "), rwlock "
      << (config.rwlock == nullptr ? "pthread" : config.rwlock) << ", wait " << config.wait << ": "
      << t[Event::call] << " calls seen, " << t.locks << " locks\n";
  if (t[Event::call] == 0) {
    out << "  The program takes no pthread reader-writer lock, or bypasses the preload.\n";
    return;
  }
  for (const Field& f : kFields) {
    if (t[f.event] != 0) out << "  " << f.name << " " << t[f.event] << "\n";
  }
  if (has_bias(config) && t[Event::read] != 0) {
    out << "  share of fast reads ";
    put_share(out, t[Event::fast_read], t[Event::read]);
    out << "\n";
  }
  for (std::size_t i = 0; i < count; ++i) {
    out << "  lock ";
    out.hex(top[i]->key.load(relaxed))
        << ": " << top[i]->get(Event::read) << " reads, " << top[i]->get(Event::write) << " writes";
    if (has_bias(config)) {
      out << ", " << top[i]->get(Event::fast_read) << " fast, " << top[i]->get(Event::revocation)
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

}  // namespace

void CountInTable::on(const void* lock, Event event, std::uint64_t n) noexcept {
  const auto key = reinterpret_cast<std::uintptr_t>(lock);
  Block* block = my_block();
  if (block == nullptr) {
    counts_of(key).add(event, n);
    return;
  }
  Counts& c = block->counts[hash(key) % kLocksInBlock];
  if (c.key.load(relaxed) != key) [[unlikely]] {
    hand_over(c);
    c.key.store(key, relaxed);
  }
  // Only this thread adds here: a load and a store are enough.
  Word& w = c.n[static_cast<std::size_t>(event)];
  w.store(w.load(relaxed) + n, relaxed);
}

bool prepare_stats() noexcept {
  all_locks = static_cast<Counts*>(map_pages(kLocks * sizeof(Counts)));
  ThreadExit::add(&on_thread_exit);
  return all_locks != nullptr;
}

void reset_stats() noexcept {
  if (all_locks == nullptr) return;
  raw_syscall(SYS_madvise, reinterpret_cast<long>(all_locks), kLocks * sizeof(Counts),
              MADV_DONTNEED);
  // Blocks of threads that do not exist here are free; the thread that forked keeps its own.
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next) {
    for (Counts& c : b->counts) {
      c.key.store(0, relaxed);
      for (Word& w : c.n)
        w.store(0, relaxed);
    }
    if (b != per_thread<MyBlock>.block) b->used.store(0, relaxed);
  }
}

void report_bypasses(const Bypasses& bypasses) noexcept {
  if (bypasses.count == 0) return;
  char line[2560];
  Text text(line, sizeof line);
  put_bypasses(text << "lockswap: ", bypasses);
  write_all(2, line);
}

void report_stats(const Config& config, const Bypasses& bypasses) noexcept {
  if (all_locks == nullptr) return;
  for (Block* b = blocks.load(acquire); b != nullptr; b = b->next)
    hand_over(*b);
  const Counts* top[kBusiest] = {};
  const std::size_t count = find_busiest(top);
  const Totals totals = add_up();
  static constinit char buffer[16384];
  Text out(buffer, sizeof buffer);
  if (config.stats[0] == 0) {
    put_text(out, config, totals, top, count);
    if (bypasses.count != 0) put_bypasses(out << "  ", bypasses);
    write_all(2, buffer);
    return;
  }
  put_json(out, config, totals, top, count, bypasses);
  char path[4096];
  Text(path, sizeof path) << config.stats << "." << static_cast<std::uint64_t>(getpid());
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                              O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    char line[4200];
    Text(line, sizeof line) << "lockswap: cannot write LOCKSWAP_STATS to " << path << "\n";
    write_all(2, line);
    return;
  }
  write_all(static_cast<int>(fd), buffer);
  raw_syscall(SYS_close, fd);
}

}  // namespace lockswap
