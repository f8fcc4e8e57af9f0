/// @file
/// Deferred updates for structures that are written more often than they are read. C++20; needs no
/// library.
///
///     struct mapping { lockswap::ldu_hook hook; ... };
///     struct mappings {                              // the structure behind it, for one thread
///       using object = mapping;
///       static lockswap::ldu_hook& hook(mapping& m) { return m.hook; }
///       void insert(mapping& m);
///       void remove(mapping& m);
///       void free(mapping& m) { delete &m; }         // if objects are retired
///     };
///     lockswap::ldu_logs logs;                       // one for the program
///     lockswap::ldu<mappings> of_file(logs);         // any number of structures
///     thread_local lockswap::ldu_logs::thread me(logs);
///
///     of_file.insert(me, m);                         // takes no lock
///     of_file.remove(me, m);
///     of_file.read([](const mappings& all) { ... }); // sees every update that was finished before
///
/// Paper: "A Lightweight Log-based Deferred Concurrent Updates for Linux Kernel Scalability" (LDU).
///
/// Fairness: that of the lock. An update waits for it only if its log has twice `limit` objects.
///
/// Space: a structure's own log and that of each thread hold at most twice `limit` objects.
///
/// Contract: an object belongs to one structure. Inserts and removes of an object alternate, one
///   after the other, as with the structure itself. Between remove and insert the object may be
///   changed or freed only after apply(). A read of a structure must not update or read the same
///   structure. insert, remove and free of the structure behind it must not make or end structures
///   or threads' registrations, and an exception from them ends the program, because updates would
///   be lost.
///
/// Deviations from the paper, and when not to use LDU: structures/docs/ldu.md.
//
// Idea: an update is marked on its object and logged, which is the logical update. An update that
//   undoes one that is still marked only clears the mark. A reader first takes the lock as a writer
//   and applies the logs, which are the physical updates. Then it reads as readers do.
//   With a thread argument, an update goes to that thread's log (PLDU), and without one to the
//   structure's own log (GLDU).
// State: each structure has a bit for each thread, which says that its log may hold something (an
//   announcement).
// Order: a reader sees every update that was finished before it began. A Dekker pair, all of it
//   seq_cst:
//     an update   1. adds to an empty log      2. checks for its announcement, or makes it
//     a reader    1. takes the announcements   2. checks whether those threads' logs are empty
//   One of the two sees the other. A log that is not empty was announced before, and the reader
//   that takes that announcement has yet to take the log.
// Lock before logs: a reader that finds nothing announced waits, through the lock, for the reader
//   that took the logs before it. (In the paper's figures 4 and 5 a log is taken before the lock,
//   so such a reader misses updates that are on their way.)
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <shared_mutex>
#include <utility>

#include "lockswap/ldu/chain.hpp"
#include "lockswap/ldu/hook.hpp"
#include "lockswap/ldu/logs.hpp"

namespace lockswap {

/// A structure whose updates can be deferred: it has a hook in each object, and inserts and removes
/// objects.
template <class S, class P>
concept ldu_structure = requires(S& s, typename S::object& o) {
  { S::hook(o) } -> std::same_as<basic_ldu_hook<P>&>;
  s.insert(o);
  s.remove(o);
};

/// The lock of a structure. Readers use lock_shared and unlock_shared if it has these.
template <class L>
concept ldu_lock = std::default_initializable<L> && requires(L& l) {
  l.lock();
  { l.try_lock() } -> std::convertible_to<bool>;
  l.unlock();
};

/// A structure for one thread, which any number of threads update and read (LDU, section 3).
/// Updates are logged, and readers apply them, so a reader sees all updates that were finished
/// before it began. Inserts and removes of one object must alternate. An object that was removed
/// may be changed or freed only after apply(). Objects and structures must exist until then. P
/// stays as it is, except in tests of the structure.
template <class Structure, class Lock = std::shared_mutex, class P = ldu_machine>
class ldu final : ldu_parts::owner<P> {
  static_assert(ldu_structure<Structure, P>);
  static_assert(ldu_lock<Lock>);
  using word = typename P::template atomic<std::uint64_t>;
  using slot = ldu_parts::slot<P>;
  using chain = ldu_parts::chain<Structure, P>;
  using marked = ldu_parts::marked;
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
  static constexpr std::uint32_t default_limit = 64;

  /// Makes a structure, whose constructor gets the other arguments.
  template <class... Args>
  explicit ldu(logs& of, Args&&... structure)
      : logs_(of), number_(of.next_number()), structure_(std::forward<Args>(structure)...) {
    logs_.begin(*this);
  }
  /// Nobody may use it any more. Pending updates are applied first.
  ~ldu() {
    logs_.guard_.lock();  // no thread is at one of its logs
    apply_all();
    logs_.members_.drop(*this);
    logs_.guard_.unlock();
  }
  ldu(const ldu&) = delete;
  ldu& operator=(const ldu&) = delete;

  // --- updates: any thread, at any time except in a read of this structure. They take no lock
  // unless the log has reached the limit. The cost is one exchange, and two more if the object is
  // logged.
  /// Inserts the object. Takes no lock unless this thread's log has reached the limit. Costs one
  /// atomic exchange, and two more if the object is put into a log. Must not be called in a read of
  /// this structure.
  void insert(thread& me, object& o) { update(&me, o, ldu_parts::kInsert, 0); }
  /// Removes the object. It can still be read until the update is applied.
  void remove(thread& me, object& o) { update(&me, o, ldu_parts::kRemove, 0); }
  /// Removes the object, and frees it as soon as nobody can access it.
  void retire(thread& me, object& o) requires ldu_parts::frees<Structure> {
    update(&me, o, ldu_parts::kRemove, ldu_parts::kDead);
  }
  /// Frees an object that was removed already, or never inserted, as soon as nobody can access it.
  void free(thread& me, object& o) requires ldu_parts::frees<Structure> {
    update(&me, o, 0, ldu_parts::kDead);
  }

  /// The same for threads that are not registered, through the structure's own log.
  void insert(object& o) { update(nullptr, o, ldu_parts::kInsert, 0); }
  /// Removes the object, for any thread.
  void remove(object& o) { update(nullptr, o, ldu_parts::kRemove, 0); }
  /// Removes the object and frees it later, for any thread.
  void retire(object& o) requires ldu_parts::frees<Structure> {
    update(nullptr, o, ldu_parts::kRemove, ldu_parts::kDead);
  }
  /// Frees an object that is not in the structure, for any thread.
  void free(object& o) requires ldu_parts::frees<Structure> {
    update(nullptr, o, 0, ldu_parts::kDead);
  }

  // --- readers. For each object they see updates that were finished before. Of those that run at
  // the same time they may see some and not others.
  /// Calls look(structure) and returns its result. If updates are pending, it takes the lock as a
  /// writer and applies them first. For each object it sees the updates that were finished before,
  /// and perhaps some of those that run at the same time.
  template <class F>
  decltype(auto) read(F&& look) {
    if (may_pend()) {
      const exclusive_hold hold(*this);
      if constexpr (!kShares) return look(std::as_const(structure_));
    }
    const shared_hold hold(*this);
    return look(std::as_const(structure_));
  }
  /// Calls change(structure) with the lock as a writer, when everything has been applied, and
  /// returns its result.
  template <class F>
  decltype(auto) exclusive(F&& change) {
    const exclusive_hold hold(*this);
    return change(structure_);
  }
  /// Applies all pending updates. Afterwards, objects that were removed before are neither in a log
  /// nor in the structure.
  void apply() { const exclusive_hold hold(*this); }
  /// Returns the counts of updates in all logs, up to the last time that each was applied. Any
  /// thread may call it. Takes the lock as a writer.
  ldu_counts counts() {
    const exclusive_hold hold(*this);
    return counts_.get();
  }

  /// A log that reaches this number of objects is applied by the next update if the lock is free.
  /// At twice this number the update waits for the lock. At least 1. Call this before the structure
  /// is used.
  void set_limit(std::uint32_t objects) noexcept { limit_ = objects; }

 private:
  class exclusive_hold {
   public:
    explicit exclusive_hold(ldu& of) : of_(of) {
      of_.lock_.lock();
      of_.apply_all();
    }
    ~exclusive_hold() { of_.lock_.unlock(); }
    exclusive_hold(const exclusive_hold&) = delete;
    exclusive_hold& operator=(const exclusive_hold&) = delete;

   private:
    ldu& of_;
  };
  class shared_hold {
   public:
    explicit shared_hold(ldu& of) : of_(of) {
      if constexpr (kShares) {
        of_.lock_.lock_shared();
      } else {
        of_.lock_.lock();
      }
    }
    ~shared_hold() {
      if constexpr (kShares) {
        of_.lock_.unlock_shared();
      } else {
        of_.lock_.unlock();
      }
    }
    shared_hold(const shared_hold&) = delete;
    shared_hold& operator=(const shared_hold&) = delete;

   private:
    ldu& of_;
  };

  // --- logical updates
  // The path into a log, for an object that is in none.
  class entry {
   public:
    entry(ldu& to, thread* me) noexcept : to_(to), me_(me) {}
    // Finds the log first, because that may apply another structure's log, which makes updates,
    // too.
    void begin() {
      slot_ = me_ != nullptr && me_->has_logs() ? to_.slot_of(*me_) : nullptr;
      if (slot_ != nullptr) {
        to_.logs_.pass_gate(*me_->row_);
      } else {
        length_ = to_.pass_to_own();
      }
    }
    void add(object& o) {
      if (slot_ != nullptr) {
        to_.add_to_slot(*me_, *slot_, o);
      } else {
        to_.add_to_own(o, length_);
      }
    }

   private:
    ldu& to_;
    thread* const me_;
    slot* slot_ = nullptr;
    std::uint64_t length_ = 0;
  };

  void update(thread* me, object& o, std::uint64_t what, std::uint64_t last) {
    entry to_log(*this, me);
    const marked m = Structure::hook(o).mark(what, last, [&to_log] { to_log.begin(); });
    if (me != nullptr && me->has_logs()) count(*me, m);
    if (m == marked::log_it) to_log.add(o);
  }
  static void count(thread& me, marked m) noexcept {
    ldu_counts c = me.row_->counts.get();
    ++c.updates;
    c.absorbed += m == marked::absorbed ? 1 : 0;
    c.logged += m == marked::log_it ? 1 : 0;
    me.row_->counts.set(c);
  }

  // Returns this thread's slot, or null if it has another structure's log that can't be applied
  // now.
  slot* slot_of(thread& me) {
    slot& s = logs::slot_in(*me.row_, number_);
    if (s.is_of(*this)) return &s;
    // Applying that log may have put a third structure's log there.
    const bool is_free = logs_.empty(s) && s.updates.is_empty_to_owner();
    return is_free && s.give_to(*this) ? &s : nullptr;
  }
  void add_to_slot(thread& me, slot& s, object& o) {
    const bool first = chain::add(s.updates, o);
    if (first) announce(me.index_);
    s.length.set(first ? 1 : s.length.get() + 1);
    logs::leave_gate(*me.row_);
    if (s.length.get() < limit_) return;
    if (!try_apply(s) && s.length.get() >= 2 * limit_) {
      lock_.lock();
      apply(s.updates.take());
      lock_.unlock();
    }
  }
  void announce(std::size_t index) noexcept {
    word& w = announced_[index / 64];
    const std::uint64_t bit = std::uint64_t{1} << index % 64;
    // seq_cst: the update's second step. release: what the log has; pairs with apply_all.
    if ((w.load(std::memory_order_seq_cst) & bit) == 0) w.fetch_or(bit, std::memory_order_release);
  }
  // Counts an object before it can be taken. Returns the number including this one.
  std::uint64_t pass_to_own() noexcept {
    std::uint64_t length = 0;
    // seq_cst: forks.hpp.
    logs_.gate_.pass([&] { length = own_length_.fetch_add(1, std::memory_order_seq_cst) + 1; },
                     [this] { withdraw(); });
    return length;
  }
  // Relaxed: only the sum matters.
  void withdraw() noexcept { own_length_.fetch_add(kMinusOne, std::memory_order_relaxed); }
  void add_to_own(object& o, std::uint64_t length) {
    chain::add(own_, o);
    if (length < limit_) return;
    if (!lock_.try_lock()) {
      if (length < 2 * std::uint64_t{limit_}) return;
      lock_.lock();
    }
    apply_own();
    lock_.unlock();
  }

  // --- physical updates, under the lock
  bool try_apply(slot& s) override {
    if (!lock_.try_lock()) return false;
    // Its thread is here, and no reader is: nobody else takes from it.
    apply(s.updates.take());
    lock_.unlock();
    return true;
  }
  void apply_all() {
    for (std::size_t w = 0; w < announced_.size(); ++w) {
      // Relaxed: as in may_pend.
      if (announced_[w].load(std::memory_order_relaxed) == 0) continue;
      // seq_cst: a reader's first step.
      std::uint64_t threads = announced_[w].exchange(0, std::memory_order_seq_cst);
      for (; threads != 0; threads &= threads - 1) {
        const std::size_t index = w * 64 + static_cast<std::size_t>(std::countr_zero(threads));
        apply(logs::slot_in(*logs_.row_at(index), number_).take(*this));
      }
    }
    apply_own();
  }
  void apply_own() {
    const std::uint64_t length = apply(own_.take());
    if (length != 0) own_length_.fetch_add(~length + 1, std::memory_order_relaxed);
  }
  std::uint64_t apply(std::uint64_t head) noexcept {
    if (head == 0) return 0;
    ldu_counts counts = counts_.get();
    const std::uint64_t length = chain::apply(structure_, head, counts);
    counts_.set(counts);
    return length;
  }
  bool may_pend() const noexcept {
    // relaxed: what was announced before this read began can't be missed. If it has been taken
    // since, the lock makes this reader wait for the one that took it.
    for (const word& w : announced_) {
      if (w.load(std::memory_order_relaxed) != 0) return true;
    }
    return !own_.is_empty();
  }

  // --- forks
  bool try_hold() override { return lock_.try_lock(); }
  void hold() override { lock_.lock(); }
  void let_go() override { lock_.unlock(); }
  bool is_whole() override {
    const std::uint64_t added = chain::length(own_.head());
    // seq_cst: the fork's second step. After the log, which only grows: nobody else takes from it.
    return own_length_.load(std::memory_order_seq_cst) == added;
  }
  void renew() override {
    // relaxed: there is one thread. Others may have been turning back at the gate.
    own_length_.store(chain::length(own_.head()), std::memory_order_relaxed);
    new (&lock_) Lock{};
  }

  static constexpr std::uint64_t kMinusOne = ~std::uint64_t{0};

  logs& logs_;
  const std::uint64_t number_;
  std::uint32_t limit_ = default_limit;
  std::array<word, (P::kThreads + 63) / 64> announced_{};
  ldu_parts::log<P> own_{};
  word own_length_{};                              // includes those on their way
  typename P::template plain<ldu_counts> counts_;  // under the lock
  Lock lock_{};
  Structure structure_;
};

}  // namespace lockswap
