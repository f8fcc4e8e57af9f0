#include "profile/world.h"

#include "platform/memory.h"
#include "platform/syscall.h"
#include "profile/file.h"
#include "profile/meetings.h"
#include "profile/parent.h"
#include "profile/stacks.h"
#include "profile/waits.h"

namespace lockswap::profile {
namespace {

[[gnu::noinline]] void begin(World& w) noexcept {
  w.begin([&](std::uint32_t number) noexcept {
    w.records = number == 1 || reopen_file();
    if (number != 1 && w.records) write_holds_of_parent();
  });
}

// A record of locks that a thread held when it ended, or of a call in which it ended, is kept to be
// shown, but only this many.
constexpr std::uint32_t kMostLeftBehind = 256;
constinit NativeAtomic<std::uint32_t> left_behind{0};

// Returns a new Live in the file. If the file is full, it is in memory that `lockswap why` can't
// see. Called under the guard.
Live* new_live() noexcept {
  Live* const live = new_live_in_file();
  return live != nullptr ? live : static_cast<Live*>(map_pages(sizeof(Live)));
}

// relaxed, all: a reader in another process reads twice.
void leave_live(Thread& t, bool is_own) noexcept {
  Live& live = *t.live;
  // The thread was cancelled in that call, or ended in a signal handler.
  if (live.waiting.load(relaxed) > live.first_wait()) leave_waits(t, live.first_wait());
  const bool shows = live.held.load(relaxed) != 0 || live.waiting.load(relaxed) != 0;
  if (shows && left_behind.fetch_add(1, relaxed) < kMostLeftBehind) {
    if (is_own) live.note_name();
    t.live = nullptr;
    return;
  }
  live.waiting.store(0, relaxed);
  live.held.store(0, relaxed);
  live.tid.store(0, relaxed);
}

// Returns the record of a thread that has ended, or a new one. The end of some threads is not seen,
// so their records are checked. Called under the guard.
Thread* take_thread(World& w) noexcept {
  for (std::uint32_t i = 0; i < kMostThreads; ++i) {
    // relaxed, all: under the guard, except for what on_thread_exit returns.
    Thread* t = w.thread[i].load(relaxed);
    if (t == nullptr) {
      t = static_cast<Thread*>(map_pages(sizeof(Thread)));
      if (t == nullptr) return nullptr;
      t->place = i;
      t->taken.store(1, relaxed);
      w.thread[i].store(t, release);  // pairs with the load of a waiter that searches for a release
      return t;
    }
    // relaxed: only a number. If another thread has it by now, that costs a record.
    if (!t->is_watched && t->live != nullptr && !has_thread(t->live->tid.load(relaxed))) {
      leave_live(*t, false);
      t->pending = {};
      t->taken.store(0, relaxed);
    }
    std::uint32_t free = 0;
    // acquire: pairs with on_thread_exit. What the last thread wrote belongs to this one now.
    if (t->taken.compare_exchange(free, 1, acquire)) {
      t->known.forget();  // the new thread has another stack
      for (Recent& recent : t->recent)
        recent.key = 0;  // each tally must learn of the new thread
      t->split = {};
      return t;
    }
  }
  return nullptr;
}

void on_thread_exit() noexcept {
  Me& m = me();
  if (m.thread == nullptr || m.process != world().number) return;
  Thread* const t = m.thread;
  charge_pending(*t, true);
  announce_end(*t);
  m.ready = false;
  m.thread = nullptr;
  m.process = 0;  // locks taken by later destructors make it known again
  leave_live(*t, true);
  t->pending = {};
  t->taken.store(0, release);  // pairs with take_thread
}

}  // namespace

bool prepare_world() noexcept {
  ThreadExit::add(&on_thread_exit);
  the_world = recording::map_world<World>();
  return the_world != nullptr;
}

void empty_world_of_parent() noexcept { recording::empty_if_of_parent(world()); }

[[gnu::noinline]] Thread* make_known(Me& m) noexcept {
  World& w = world();
  if (!w.is_ready()) begin(w);
  if (m.process == w.number) return m.thread;
  m.thread = nullptr;
  m.process = w.number;
  if (!w.records) return nullptr;
  const bool is_watched = ThreadExit::arm();
  w.guard.lock();
  Thread* const t = take_thread(w);
  if (t != nullptr) t->is_watched = true;  // until its id is stored
  if (t != nullptr && t->live == nullptr) t->live = new_live();
  w.guard.unlock();
  if (t == nullptr) return nullptr;
  if (t->live == nullptr) {
    t->taken.store(0, release);  // pairs with take_thread
    return nullptr;
  }
  // relaxed: the id only says whose record it is, and holds come later.
  const auto tid = static_cast<std::uint32_t>(raw_syscall(SYS_gettid));
  t->live->self.store(::pthread_self(), relaxed);
  t->live->tid.store(tid, relaxed);
  w.guard.lock();
  t->is_watched = is_watched;
  w.guard.unlock();
  t->serial = w.serials.fetch_add(1, relaxed) + 1;  // relaxed: only a number
  t->random = static_cast<std::uint32_t>(t->serial * 2654435761u) | 1u;
  record().threads.fetch_add(1, relaxed);
  t->root = tid == w.pid ? 0 : outermost_frames();  // nobody joins the first thread
  m.thread = t;
  m.live = t->live;
  return t;
}

bool is_recording() noexcept {
  const World& w = world();
  return w.is_ready() && w.records;
}

void Entry::count_inside() noexcept {
  if (is_recording()) record().dropped.inside.fetch_add(1, relaxed);  // relaxed: a count
}

}  // namespace lockswap::profile
