#include "audit/world.h"

#include "audit/entry.h"
#include "audit/fork.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/rwlock.h"
#include "platform/alone.h"
#include "platform/real_time.h"
#include "platform/text.h"
#include "platform/thread.h"

namespace lockswap::audit {
namespace {

constinit World without_memory{};
constinit World* current = &without_memory;
constinit NativeAtomic<std::uint64_t> serials{0};

[[gnu::noinline]] void begin(World& w) noexcept {
  const Busy busy;
  w.begin([](std::uint32_t number) noexcept {
    if (number > 1) reopen_record();
  });
}

// In a child only the addresses of the thread's holds are known, because its stacks and the
// mutexes' numbers were the parent's.
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

// A child that a program has made by a raw clone may learn its thread id later.
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
    note_mutexes_at_end(m);
    note_rwlocks_at_end(m);
    world().threads.give(m.record);
  }
  m.record = nullptr;
}

}  // namespace

World& world() noexcept { return *current; }

void prepare_world() noexcept {
  ThreadExit::prepare();
  ThreadExit::add(&on_thread_exit);
  if (auto* const mapped = recording::map_world<World>(); mapped != nullptr) current = mapped;
}

bool is_alone(const Me& m) noexcept {
  return Alone::is() || (serials.load(relaxed) == 1 && m.tid == world().pid);
}

Me& known_me(std::uint64_t site) noexcept {
  World& w = world();
  Me& m = me();
  if (!w.is_ready()) [[unlikely]]
    begin(w);
  if (m.process != w.number) [[unlikely]]
    make_known(w, m, site);
  if (m.tid != thread_id()) [[unlikely]]
    renumber(m);
  return m;
}

void note_real_time(pthread_t thread, std::uint64_t site) noexcept {
  char name[64];  // the kernel's names have 16 bytes
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

void empty_world_of_parent() noexcept { recording::empty_if_of_parent(world()); }

}  // namespace lockswap::audit
