/// @file
/// Deferred updates with time stamps: the interface of ldu.hpp, with another log. C++20; needs no
/// library.
///
/// Paper: LDU, section 3.5.4, which quotes OpLog (S. Boyd-Wickizer, F. Kaashoek, R. Morris,
///   N. Zeldovich, "OpLog: a library for scaling update-heavy data structures", 2014).
///
/// Calls: those of ldu.hpp. Objects need no hook.
///
/// Benefit over ldu.hpp: a read sees one state of the structure, as if updates and reads had come
/// one after the other.
///
/// Cost: each update writes to the clock, nothing is absorbed, and a reader checks every thread's
///   ring.
///
/// Space: a ring of `limit` records for each thread that has updated this structure. An update that
///   finds its ring full takes the lock and applies all rings.
///
/// Contract: as in ldu.hpp.
//
// Idea: each update draws a stamp from the structure's clock, and is stored as a record in its
//   thread's ring. A reader takes the lock, merges the rings by their stamps, and applies
//   everything that is older than its own stamp.
// Order: an update moves the clock with release, and a reader loads it with acquire. So a reader
//   whose stamp is later than an update's sees everything that this update's thread saw before, and
//   finds the records of the updates before it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <shared_mutex>
#include <utility>

#include "lockswap/ldu.hpp"

namespace lockswap {

/// A structure whose updates can be deferred: it inserts and removes objects, which need no hook.
template <class S>
concept ldu_stamped_structure = requires(S& s, typename S::object& o) {
  s.insert(o);
  s.remove(o);
};

template <class Structure, class Lock = std::shared_mutex, class P = ldu_machine,
          std::size_t kLimit = 64>
/// The same with time stamps (LDU, section 3.5.4): a read sees one state of the structure, as if
/// updates and reads had come one after the other. Each update writes to the structure's clock, and
/// nothing is absorbed. A thread has a ring of `kLimit` records for each structure that it has
/// updated. P stays as it is, except in tests of the structure.
class ldu_stamped final : ldu_parts::member<P> {
  static_assert(ldu_stamped_structure<Structure>);
  static_assert(ldu_lock<Lock>);
  using word = typename P::template atomic<std::uint64_t>;
  static constexpr bool kShares = requires(Lock & l) {
    l.lock_shared();
    l.unlock_shared();
  };

 public:
  /// What the structure holds.
  using object = typename Structure::object;
  /// Where updates are logged.
  using logs = basic_ldu_logs<P>;
  /// A registered thread.
  using thread = typename logs::thread;
  /// The limit unless set_limit() changes it.
  static constexpr std::uint32_t default_limit = kLimit;

  /// Makes a structure, whose constructor gets the other arguments.
  template <class... Args>
  explicit ldu_stamped(logs& of, Args&&... structure)
      : logs_(of), structure_(std::forward<Args>(structure)...) {
    logs_.begin(*this);
  }
  /// Nobody may use it any more.
  ~ldu_stamped() {
    logs_.guard_.lock();
    logs_.members_.drop(*this);
    logs_.guard_.unlock();
    apply_all();
    for (word& w : rings_) {
      if (ring* r = at(w); r != nullptr) {
        r->~ring();
        P::template give<ring>(r);
      }
    }
  }
  ldu_stamped(const ldu_stamped&) = delete;
  ldu_stamped& operator=(const ldu_stamped&) = delete;

  /// Inserts the object. If the thread's ring is full, it takes the lock and applies all rings.
  void insert(thread& me, object& o) { update(me, o, ldu_parts::kInsert); }
  /// Removes the object. It can still be read until the update is applied.
  void remove(thread& me, object& o) { update(me, o, ldu_parts::kRemove); }
  /// Removes the object, and frees it as soon as nobody can access it.
  void retire(thread& me, object& o) requires ldu_parts::frees<Structure> {
    update(me, o, ldu_parts::kRemove | ldu_parts::kDead);
  }
  /// Frees an object that was removed already, or never inserted, as soon as nobody can access it.
  void free(thread& me, object& o) requires ldu_parts::frees<Structure> {
    update(me, o, ldu_parts::kDead);
  }

  /// The same for threads that are not registered. It takes the lock.
  void insert(object& o) { update_alone(o, ldu_parts::kInsert); }
  /// Removes the object, for any thread.
  void remove(object& o) { update_alone(o, ldu_parts::kRemove); }
  /// Removes the object and frees it later, for any thread.
  void retire(object& o) requires ldu_parts::frees<Structure> {
    update_alone(o, ldu_parts::kRemove | ldu_parts::kDead);
  }
  /// Frees an object that is not in the structure, for any thread.
  void free(object& o) requires ldu_parts::frees<Structure> { update_alone(o, ldu_parts::kDead); }

  /// Applies what is pending, then calls look(structure) and returns its result.
  template <class F>
  decltype(auto) read(F&& look) {
    lock_.lock();
    apply_all();
    if constexpr (!kShares) {
      const unlocker hold{lock_, false};
      return look(std::as_const(structure_));
    } else {
      lock_.unlock();
      lock_.lock_shared();
      const unlocker hold{lock_, true};
      return look(std::as_const(structure_));
    }
  }
  /// The same for change(structure), which may change the structure.
  template <class F>
  decltype(auto) exclusive(F&& change) {
    lock_.lock();
    const unlocker hold{lock_, false};
    apply_all();
    return change(structure_);
  }
  /// Applies all pending updates.
  void apply() {
    exclusive([](Structure&) {});
  }
  /// As in ldu.hpp: counts everything that was applied. Nothing is absorbed, and each update of a
  /// registered thread is logged.
  ldu_counts counts() {
    return exclusive([this](Structure&) { return counts_.get(); });
  }
  /// An update that finds this many records in its thread's ring applies them, under the lock. From
  /// 1 to the size of a ring; larger limits mean that size. Call this before the structure is used.
  void set_limit(std::uint32_t records) noexcept {
    limit_ = records < kLimit ? records : static_cast<std::uint32_t>(kLimit);
  }

 private:
  struct record {
    typename P::template plain<std::uint64_t> stamp;
    typename P::template plain<object*> what_object;
    typename P::template plain<std::uint64_t> what;
  };
  struct ring {
    word added{};  // number of records so far; written by the thread
    word done{};   // number applied; written under the lock
    std::array<record, kLimit> records{};
  };
  struct unlocker {
    Lock& lock;
    bool shared;
    ~unlocker() {
      if constexpr (kShares) {
        if (shared) {
          lock.unlock_shared();
          return;
        }
      }
      lock.unlock();
    }
  };

  static ring* at(const word& w) noexcept {
    // acquire: the ring; pairs with ring_of.
    return reinterpret_cast<ring*>(w.load(std::memory_order_acquire));
  }
  // Returns the thread's ring, which only that thread makes.
  ring& ring_of(std::size_t index) {
    word& w = rings_[index];
    ring* r = at(w);
    if (r == nullptr) {
      r = new (P::template take<ring>()) ring;
      w.store(reinterpret_cast<std::uintptr_t>(r), std::memory_order_release);  // pairs with at
    }
    return *r;
  }

  void update(thread& me, object& o, std::uint64_t what) {
    if (!me.has_logs()) {
      update_alone(o, what);
      return;
    }
    ring& r = ring_of(me.index_);
    // relaxed: only this thread writes it.
    const std::uint64_t n = r.added.load(std::memory_order_relaxed);
    // acquire: the record that was there has been read; pairs with apply_all.
    if (n - r.done.load(std::memory_order_acquire) >= limit_) apply();
    record& to = r.records[n % kLimit];
    // release: what this thread has seen finished; pairs with apply_all.
    to.stamp.set(clock_.fetch_add(1, std::memory_order_release));
    to.what_object.set(&o);
    to.what.set(what);
    r.added.store(n + 1, std::memory_order_release);  // release: the record; pairs with apply_all
    ldu_counts c = me.row_->counts.get();
    ++c.updates;
    ++c.logged;
    me.row_->counts.set(c);
  }

  void update_alone(object& o, std::uint64_t what) {
    exclusive([&](Structure& s) {
      perform(s, o, what);
      count(changes(what), 0);
    });
  }
  // As in ldu.hpp: freeing an object is not an update of the structure.
  static std::uint64_t changes(std::uint64_t what) noexcept {
    return (what & (ldu_parts::kInsert | ldu_parts::kRemove)) != 0 ? 1 : 0;
  }
  static void perform(Structure& s, object& o, std::uint64_t what) noexcept {
    if ((what & ldu_parts::kInsert) != 0) s.insert(o);
    if ((what & ldu_parts::kRemove) != 0) s.remove(o);
    if constexpr (ldu_parts::frees<Structure>) {
      if ((what & ldu_parts::kDead) != 0) s.free(o);
    }
  }
  // Under the lock, as apply_all.
  void count(std::uint64_t updates, std::uint64_t logged) noexcept {
    ldu_counts c = counts_.get();
    c.updates += updates;
    c.logged += logged;
    counts_.set(c);
  }
  void apply_all() noexcept {
    struct cursor {
      ring* r;
      std::uint64_t next, end;
      const record& top() const noexcept { return r->records[next % kLimit]; }
    };
    // acquire: what was finished before the updates that will be applied; pairs with update.
    const std::uint64_t now = clock_.load(std::memory_order_acquire);
    std::array<cursor, P::kThreads> open;
    std::size_t rings = 0;
    for (const word& w : rings_) {
      ring* r = at(w);
      if (r == nullptr) continue;
      const std::uint64_t done = r->done.load(std::memory_order_relaxed);  // under the lock
      const std::uint64_t end = r->added.load(std::memory_order_acquire);  // pairs with update
      if (done != end) open[rings++] = {r, done, end};
    }
    std::uint64_t updates = 0, logged = 0;
    for (;;) {
      cursor* least = nullptr;
      for (std::size_t i = 0; i < rings; ++i) {
        cursor& c = open[i];
        if (c.next == c.end || c.top().stamp.get() >= now) continue;
        if (least == nullptr || c.top().stamp.get() < least->top().stamp.get()) least = &c;
      }
      if (least == nullptr) break;
      perform(structure_, *least->top().what_object.get(), least->top().what.get());
      updates += changes(least->top().what.get());
      ++logged;
      ++least->next;
    }
    for (std::size_t i = 0; i < rings; ++i) {
      // release: the records were read; pairs with update.
      open[i].r->done.store(open[i].next, std::memory_order_release);
    }
    if (logged != 0) count(updates, logged);
  }

  // --- forks. An update that a fork interrupts is in no ring yet, so in the child it has not
  // begun.
  bool try_hold() override { return lock_.try_lock(); }
  void hold() override { lock_.lock(); }
  void let_go() override { lock_.unlock(); }
  bool is_whole() override { return true; }
  void renew() override { new (&lock_) Lock{}; }

  logs& logs_;
  std::uint32_t limit_ = default_limit;
  word clock_{};
  std::array<word, P::kThreads> rings_{};
  typename P::template plain<ldu_counts> counts_;  // under the lock
  Lock lock_{};
  Structure structure_;
};

}  // namespace lockswap
