#include "audit/world.h"

#include <cstring>
#include <ctime>

#include <sys/mman.h>

#include "audit/entry.h"
#include "audit/fork.h"
#include "audit/report.h"
#include "platform/alone.h"
#include "platform/memory.h"
#include "platform/real_time.h"
#include "platform/syscall.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace lockswap::audit {
namespace {

constexpr std::uint32_t kNew = 0, kBeginning = 1, kReady = 2;

constinit World without_memory{};
constinit World* current = &without_memory;
constinit NativeAtomic<std::uint32_t> worlds{0};
constinit NativeAtomic<std::uint64_t> serials{0};

std::uint32_t process_id() noexcept { return static_cast<std::uint32_t>(raw_syscall(SYS_getpid)); }

[[gnu::noinline]] void begin(World& w) noexcept {
  const Busy busy;
  std::uint32_t seen = kNew;
  if (w.state.compare_exchange(seen, kBeginning, acquire)) {
    w.pid = process_id();
    w.number = worlds.fetch_add(1, relaxed) + 1;
    if (is_forked()) reopen_record();
    w.state.store(kReady, release);  // pairs with the loads of known_me and below
  }
  while (w.state.load(acquire) != kReady) {
    // Not a yield: the other thread may have a lower real-time priority than this one.
    const timespec nap{0, 100'000};
    raw_syscall(SYS_nanosleep, reinterpret_cast<long>(&nap), 0);
  }
}

// In a child what the thread holds is known by address alone: its stacks and the mutexes' numbers
// were the parent's.
void forget_stacks(Me& m) noexcept {
  for (HeldLock& one : m.held.locks)
    one.stack = 0;
  m.held.mutexes.clear();
}

[[gnu::noinline]] void make_known(World& w, Me& m, std::uint64_t site) noexcept {
  const Busy busy;
  if (m.serial == 0) m.serial = serials.fetch_add(1, relaxed) + 1;
  m.tid_before = m.tid;
  m.tid = thread_id();
  m.record = w.threads.take(m, ThreadExit::arm());
  m.process = w.number;
  if (m.tid_before != 0) forget_stacks(m);
  if (m.saved != nullptr) restore_holds(m);
  if (has_real_time_policy()) note_real_time(pthread_self(), site);
}

// In a child that a program has made by a raw clone, it may give its thread its id later.
[[gnu::noinline]] void renumber(Me& m) noexcept {
  m.tid_before = m.tid;
  m.tid = thread_id();
  if (m.record != nullptr) m.record->tid.store(m.tid, relaxed);  // relaxed: a number
}

void on_thread_exit() noexcept {
  Me& m = me();
  if (m.record == nullptr) return;
  if (m.process == world().number) {
    if (m.inside != 0 && !m.busy) note_left_call(m);
    world().threads.give(m.record);
  }
  m.record = nullptr;
}

}  // namespace

World& world() noexcept { return *current; }

void prepare_world() noexcept {
  ThreadExit::prepare();
  ThreadExit::add(&on_thread_exit);
  void* p = map_pages(sizeof(World));
  if (p == nullptr) return;
  raw_syscall(SYS_madvise, reinterpret_cast<long>(p), sizeof(World), MADV_WIPEONFORK);
  current = static_cast<World*>(p);
}

bool is_alone(const Me& m) noexcept {
  return Alone::is() || (serials.load(relaxed) == 1 && m.tid == world().pid);
}

Me& known_me(std::uint64_t site) noexcept {
  World& w = world();
  Me& m = me();
  if (w.state.load(acquire) != kReady) [[unlikely]]
    begin(w);
  if (m.process != w.number) [[unlikely]]
    make_known(w, m, site);
  if (m.tid != thread_id()) [[unlikely]]
    renumber(m);
  return m;
}

void note_real_time(pthread_t thread, std::uint64_t site) noexcept {
  char name[64];  // the kernel's has 16
  int policy = 0;
  sched_param p{};
  if (pthread_getname_np(thread, name, sizeof name) != 0) name[0] = 0;
  pthread_getschedparam(thread, &policy, &p);
  char whole[128];
  Text(whole, sizeof whole) << "thread " << name << ", "
                            << (policy == SCHED_FIFO ? "SCHED_FIFO"
                                : policy == SCHED_RR ? "SCHED_RR"
                                                     : "SCHED_DEADLINE")
                            << ", priority " << static_cast<std::uint64_t>(p.sched_priority);
  note(Finding::real_time_thread, {.lock = nullptr, .site = site, .name = whole});
}

void empty_world_of_parent() noexcept {
  World& w = world();
  if (w.state.load(acquire) != kNew && w.pid != process_id())
    std::memset(static_cast<void*>(&w), 0, sizeof w);
}

}  // namespace lockswap::audit
