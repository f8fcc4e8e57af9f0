#include "audit/threads.h"

#include <algorithm>
#include <cstddef>

#include "audit/report.h"
#include "platform/memory.h"

namespace lockswap::audit {
namespace {

Inside* take_inside(ThreadRecord& r, std::uint32_t tid) noexcept {
  for (Inside& one : record().inside) {
    std::uint32_t nobody = 0;
    if (one.tid.load(relaxed) == 0 && one.tid.compare_exchange(nobody, tid, relaxed)) return &one;
  }
  r.own_inside.lock.store(0, relaxed);
  return &r.own_inside;
}

void give_inside(ThreadRecord& r) noexcept {
  if (r.inside == nullptr) return;
  r.inside->lock.store(0, relaxed);
  r.inside->tid.store(0, relaxed);
  r.inside = nullptr;
}

}  // namespace

void Threads::add_records() noexcept {
  constexpr std::size_t kInChunk = 128;
  auto* chunk = static_cast<ThreadRecord*>(map_pages(kInChunk * sizeof(ThreadRecord)));
  if (chunk == nullptr) return;
  for (std::size_t i = 0; i < kInChunk; ++i) {
    chunk[i].next = all_;
    all_ = &chunk[i];
  }
  count_ += kInChunk;
}

// Returns a free record, after freeing those of threads whose end was not seen. Takes one with a
// mutex, which another thread may still release, only if `also_with_mutexes`.
ThreadRecord* Threads::free_record(bool also_with_mutexes) noexcept {
  for (ThreadRecord* r = all_; r != nullptr; r = r->next) {
    if (r->serial.load(relaxed) != 0 && !r->is_watched && !has_thread(r->tid.load(relaxed))) {
      give_inside(*r);
      r->serial.store(0, relaxed);
    }
    if (r->serial.load(relaxed) != 0) continue;
    const bool has_mutex = std::any_of(r->mutex, r->mutex + kMostHeld, [](const auto& one) {
      return one.address.load(relaxed) != 0;  // relaxed: a hint
    });
    if (!has_mutex || also_with_mutexes) return r;
  }
  return nullptr;
}

ThreadRecord* Threads::take(const Me& m, bool is_watched) noexcept {
  const Section section(guard_);
  constexpr std::size_t kMost = 8192;  // unless that many threads exist
  ThreadRecord* r = free_record(false);
  if (r == nullptr && count_ >= kMost) r = free_record(true);
  if (r == nullptr) {
    add_records();
    r = free_record(true);
  }
  if (r == nullptr) return nullptr;
  r->rwlocks.store(0, relaxed);
  r->mutexes.store(0, relaxed);
  r->tid.store(m.tid, relaxed);
  r->handle.store(pthread_self(), relaxed);
  r->signals.store(0, relaxed);
  for (MutexOfThread& one : r->mutex)
    one.address.store(0, relaxed);
  if (r->unwinding != nullptr) {
    r->unwinding->forget();
  } else {
    r->unwinding = static_cast<Unwinding*>(map_pages(sizeof(Unwinding)));
  }
  r->inside = take_inside(*r, m.tid);
  for (auto& lock : r->asked)
    lock.store(0, relaxed);
  r->is_watched = is_watched;
  r->serial.store(m.serial, relaxed);
  return r;
}

void Threads::give(ThreadRecord* record) noexcept {
  const Section section(guard_);
  give_inside(*record);
  record->serial.store(0, relaxed);
}

bool Threads::find(pthread_t thread, Joined& into) noexcept {
  const Section section(guard_);
  for (ThreadRecord* r = all_; r != nullptr; r = r->next) {
    if (r->serial.load(relaxed) == 0 || r->handle.load(relaxed) != thread) continue;
    into.record = r;
    into.tid = r->tid.load(relaxed);
    into.question.address = r->inside->lock.load(acquire);  // pairs with begin_asking
    into.question.site = r->asked_site.load(relaxed);
    into.question.mode = r->inside->mode.load(relaxed);
    // The thread may have jumped out of that call.
    if (!CallMark::stands(r->asked_mark.load(relaxed))) into.question = {};
    return true;
  }
  return false;
}

void Threads::took_rwlock_from(ThreadRecord* record, std::uint64_t serial) noexcept {
  if (record == nullptr) return;
  if (serial == me().serial) {
    lower(record->rwlocks);
    return;
  }
  const Section section(guard_);
  if (record->serial.load(relaxed) == serial) lower(record->rwlocks);
}

void Threads::sent(pthread_t thread, unsigned signal) noexcept {
  const Section section(guard_);
  for (ThreadRecord* r = all_; r != nullptr; r = r->next) {
    if (r->serial.load(relaxed) == 0 || r->handle.load(relaxed) != thread) continue;
    r->signals.fetch_or(std::uint64_t{1} << (signal - 1), relaxed);
    return;
  }
}

TakenFrom Threads::where_taken(std::uint32_t tid, std::uint64_t address) noexcept {
  const Section section(guard_);
  for (const ThreadRecord* r = all_; r != nullptr; r = r->next) {
    if (r->tid.load(relaxed) != tid) continue;
    for (const MutexOfThread& one : r->mutex) {
      if (one.address.load(acquire) == address)  // pairs with remember_mutex
        return taken(one);
    }
  }
  return {};
}

TakenFrom Threads::took_mutex_from(std::uint32_t tid, std::uint64_t address) noexcept {
  const Section section(guard_);
  TakenFrom found;
  // A thread that has ended counts nothing any more. What it held is in its record until another
  // thread gets that.
  for (ThreadRecord* r = all_; r != nullptr; r = r->next) {
    if (r->tid.load(relaxed) != tid) continue;
    if (r->serial.load(relaxed) != 0) lower(r->mutexes);
    for (MutexOfThread& one : r->mutex) {
      if (one.address.load(acquire) != address) continue;  // pairs with remember_mutex
      found = taken(one);
      one.address.store(0, relaxed);  // relaxed: the owner only checks whether it is there
    }
  }
  return found;
}

}  // namespace lockswap::audit
