#include "audit/fork.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "audit/address.h"
#include "audit/mutex_holds.h"
#include "audit/report.h"
#include "audit/shared.h"
#include "audit/world.h"
#include "platform/memory.h"
#include "platform/thread.h"

namespace lockswap::audit {

// The holds are in separate memory, which no other thread touches during the fork.
struct SavedHolds {
  struct One {
    LockEntry lock;
    Hold hold;
  };
  std::size_t bytes;
  std::size_t count;
  One all[1];  // as many as fit

  static SavedHolds* make(std::uint64_t most) noexcept {
    const std::size_t bytes = sizeof(SavedHolds) + most * sizeof(One);
    auto* saved = static_cast<SavedHolds*>(map_pages(bytes));
    if (saved != nullptr) saved->bytes = bytes;
    return saved;
  }
  bool has_room() const noexcept {
    return offsetof(SavedHolds, all) + (count + 1) * sizeof(One) <= bytes;
  }
};

namespace {

// The thread that forked goes on in the child, but the locks that it holds show its id in the
// parent. These are its ids from the last forks that led to this process.
constexpr std::uint32_t kGenerations = 8;
constinit NativeAtomic<std::uint32_t> forking[kGenerations]{};

// What has been noted about a fork: each thing at most once, however many locks are held.
struct Seen {
  bool mine = false, others = false, waiters = false, mutexes = false;
};

// In shared memory, holds of the parent's threads end when those release them.
void look_at_holds(const LockEntry& entry, Me& m, Seen& seen) noexcept {
  for (const Hold* h = entry.holds; h != nullptr; h = h->next) {
    const bool mine = h->serial == m.serial;
    if (mine && m.saved != nullptr && m.saved->has_room())
      m.saved->all[m.saved->count++] = {entry, *h};
    bool& said = mine ? seen.mine : seen.others;
    if (said || (!mine && entry.is_in_shared)) continue;
    said = true;
    note(mine ? Finding::fork_while_holding : Finding::fork_while_others_hold,
         {.lock = pointer_to(entry.address),
          .site = h->site,
          .other_thread = h->tid,
          .kinds = kOfRwlocks});
  }
}

void look_at(const LockEntry& entry, Me& m, Seen& seen) noexcept {
  look_at_holds(entry, m, seen);
  if (seen.waiters || entry.waiting_readers + entry.waiting_writers == 0) return;
  seen.waiters = true;
  note(Finding::fork_with_waiters, {.lock = pointer_to(entry.address), .site = 0});
}

// A thread's own mutexes stay its own in the child.
void look_at_mutexes_of_others(const Me& m, Seen& seen) noexcept {
  world().threads.each_mutex_of_others(
      m.tid, [&](std::uint64_t address, const TakenFrom& taken, std::uint32_t tid) {
        if (seen.mutexes || !shows_owner(address, tid) || is_in_shared_memory(address)) return;
        seen.mutexes = true;
        note(Finding::fork_while_others_hold, {.lock = pointer_to(address),
                                               .site = taken.site,
                                               .other_thread = tid,
                                               .kinds = kOfMutexes});
      });
}

void drop_saved(Me& m) noexcept {
  if (m.saved != nullptr) unmap_pages(m.saved, m.saved->bytes);
  m.saved = nullptr;
}

}  // namespace

void before_fork() noexcept {
  if (me().busy) return;  // a signal handler forks during our bookkeeping
  Me& m = known_me();
  const std::uint64_t held = m.record == nullptr ? 0 : m.record->rwlocks.load(relaxed);
  if (held != 0) m.saved = SavedHolds::make(held);
  Seen seen;
  for (Shard& shard : world().shards) {
    const Section section(shard.guard);
    if (!shard.is_idle()) shard.each([&](const LockEntry& entry) { look_at(entry, m, seen); });
  }
  look_at_mutexes_of_others(m, seen);
}

bool is_of_parent(const Me& m, std::uint32_t holder) noexcept {
  if (!is_forked() || holder == 0 || holder == m.tid || holder == m.tid_before) return false;
  // relaxed: stored before the child has a second thread
  const bool forked = std::any_of(std::begin(forking), std::end(forking),
                                  [&](const auto& id) { return id.load(relaxed) == holder; });
  return !forked && !has_thread(holder);
}

void after_fork_in_parent() noexcept { drop_saved(me()); }

void after_fork_in_child() noexcept {
  empty_world_of_parent();
  static constinit std::uint32_t generation = 0;
  forking[generation++ % kGenerations].store(me().tid, relaxed);
  if (!me().busy) known_me();
}

void restore_holds(Me& m) noexcept {
  for (std::size_t i = 0; i < m.saved->count; ++i) {
    const SavedHolds::One& one = m.saved->all[i];
    Shard& shard = shard_of(one.lock.address);
    const Section section(shard.guard);
    LockEntry* entry = shard.add(one.lock.address);
    if (entry == nullptr) continue;
    entry->number = one.lock.number;
    entry->kind = one.lock.kind;
    entry->shared = one.lock.shared;
    entry->is_in_shared = one.lock.is_in_shared;
    entry->known = 0;
    if (Hold* h = shard.add_hold(*entry, m, one.hold.since, one.hold.site, 0)) {
      h->reads = one.hold.reads;
      h->writes = one.hold.writes;
    }
    if (m.record != nullptr) m.record->rwlocks.fetch_add(1, relaxed);
  }
  drop_saved(m);
}

}  // namespace lockswap::audit
