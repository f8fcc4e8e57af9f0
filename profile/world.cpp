#include "profile/world.h"

#include <cstring>

#include <sys/mman.h>

#include "platform/memory.h"
#include "platform/step_aside.h"
#include "platform/syscall.h"
#include "profile/file.h"
#include "profile/meetings.h"
#include "profile/stacks.h"
#include "profile/waits.h"

namespace lockswap::profile {
namespace {

constexpr std::uint32_t kNew = 0, kBeginning = 1, kReady = 2;

constinit NativeAtomic<std::uint32_t> worlds{0};  // of this process and its ancestors

std::uint32_t process_id() noexcept { return static_cast<std::uint32_t>(raw_syscall(SYS_getpid)); }

[[gnu::noinline]] void begin(World& w) noexcept {
  std::uint32_t seen = kNew;
  if (w.state.compare_exchange(seen, kBeginning, acquire)) {
    w.pid = process_id();
    const std::uint32_t number = worlds.fetch_add(1, relaxed) + 1;  // relaxed: it hands nothing on
    w.records = number == 1 || reopen_file();
    w.number = number;
    w.state.store(kReady, release);  // pairs with the acquire loads of make_known and below
  }
  while (w.state.load(acquire) != kReady)
    nap(100'000);  // not a yield: the other thread may have a lower real-time priority
}

// Locks that a thread still held at its end, or in whose call it ended, are kept to be shown, but
// not those of ever more.
constexpr std::uint32_t kMostLeftBehind = 256;
constinit NativeAtomic<std::uint32_t> left_behind{0};

// In the file; if that is full, where `lockswap why` doesn't see it. Under the guard.
Live* new_live() noexcept {
  const std::uint32_t at = take_bytes(sizeof(Live));
  if (at == 0) return static_cast<Live*>(map_pages(sizeof(Live)));
  Live* const live = at_offset<Live>(at);
  live->next = record().live.load(relaxed);  // relaxed: under the guard
  record().live.store(at, release);          // pairs with the reader's look
  return live;
}

// A record of a thread that has ended, or a new one. Under the guard.
Thread* take_thread(World& w) noexcept {
  for (std::uint32_t i = 0; i < kMostThreads; ++i) {
    // relaxed, all: under the guard, but for what on_thread_exit gives back.
    Thread* t = w.thread[i].load(relaxed);
    if (t == nullptr) {
      t = static_cast<Thread*>(map_pages(sizeof(Thread)));
      if (t == nullptr) return nullptr;
      t->place = i;
      t->taken.store(1, relaxed);
      w.thread[i].store(t, release);  // pairs with the load of a waiter that looks for a release
      return t;
    }
    std::uint32_t free = 0;
    // acquire: pairs with on_thread_exit; what the last thread wrote is this one's now.
    if (t->taken.compare_exchange(free, 1, acquire)) {
      for (KnownStack& known : t->known)
        known.count = 0;  // it has another stack
      for (Recent& recent : t->recent)
        recent.key = 0;  // each tally is to know the new thread
      t->split = {};
      return t;
    }
  }
  return nullptr;
}

// relaxed, all: a reader in another process looks twice.
void leave_live(Thread& t) noexcept {
  Live& live = *t.live;
  // It was cancelled in there, or ended in a signal handler.
  if (live.waiting.load(relaxed) > live.first_wait()) leave_waits(t, live.first_wait());
  const bool shows = live.held.load(relaxed) != 0 || live.waiting.load(relaxed) != 0;
  if (shows && left_behind.fetch_add(1, relaxed) < kMostLeftBehind) {
    t.live = nullptr;
    return;
  }
  live.waiting.store(0, relaxed);
  live.held.store(0, relaxed);
  live.tid.store(0, relaxed);
}

void on_thread_exit() noexcept {
  Me& m = me();
  if (m.thread == nullptr || m.process != world().number) return;
  Thread* const t = m.thread;
  charge_pending(*t, true);
  announce_end(*t);
  m.ready = false;
  m.thread = nullptr;
  m.process = 0;  // locks that later destructors take make it known again
  leave_live(*t);
  t->pending = {};
  t->taken.store(0, release);  // pairs with take_thread
}

}  // namespace

bool prepare_world() noexcept {
  ThreadExit::prepare();
  ThreadExit::add(&on_thread_exit);
  void* const p = map_pages(sizeof(World));
  if (p == nullptr) return false;
  raw_syscall(SYS_madvise, reinterpret_cast<long>(p), sizeof(World), MADV_WIPEONFORK);
  the_world = static_cast<World*>(p);
  return true;
}

void empty_world_of_parent() noexcept {
  World& w = world();
  if (w.state.load(acquire) != kNew && w.pid != process_id())
    std::memset(static_cast<void*>(&w), 0, sizeof w);
}

[[gnu::noinline]] Thread* make_known(Me& m) noexcept {
  World& w = world();
  if (w.state.load(acquire) != kReady) begin(w);
  if (m.process == w.number) return m.thread;
  m.thread = nullptr;
  m.process = w.number;
  if (!w.records) return nullptr;
  // Without a hook at its end the record stays taken: at most kMostThreads of them.
  ThreadExit::arm();
  w.guard.lock();
  Thread* const t = take_thread(w);
  if (t != nullptr && t->live == nullptr) t->live = new_live();
  w.guard.unlock();
  if (t == nullptr) return nullptr;
  if (t->live == nullptr) {
    t->taken.store(0, release);  // pairs with take_thread
    return nullptr;
  }
  // relaxed: the number alone says whose it is, and what is held comes later.
  const auto tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
  t->live->self.store(::pthread_self(), relaxed);
  t->live->tid.store(tid, relaxed);
  t->serial = w.serials.fetch_add(1, relaxed) + 1;  // relaxed: a number, no more
  t->random = static_cast<std::uint32_t>(t->serial * 2654435761u) | 1u;
  record().threads.fetch_add(1, relaxed);
  t->root = tid == w.pid ? 0 : outermost_frames();  // nobody joins the first thread
  m.thread = t;
  m.live = t->live;
  return t;
}

bool is_recording() noexcept {
  const World& w = world();
  return w.state.load(acquire) == kReady && w.records;
}

void Entry::count_inside() noexcept {
  if (is_recording()) record().dropped.inside.fetch_add(1, relaxed);  // relaxed: a count
}

}  // namespace lockswap::profile
