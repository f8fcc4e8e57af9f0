/// @file
/// The threads that log updates, and their logs, for any number of structures (lockswap/ldu.hpp).
//
// Idea: each thread has a row of slots. A structure's number selects the same slot in each row. A
//   slot is a log for one structure at a time, its owner, and only the row's thread adds to it.
// State: a slot's owner, which is the structure's address. Its lowest bit is set while a thread
//   with that structure's lock takes the log.
// Invariants: a log that is not empty belongs to its slot's owner, which still exists: a structure
//   ends only after it has emptied its logs, under the guard.
//   Only the row's thread changes the owner, while the log is empty and nobody takes it. So a taker
//   that has set the bit never gets another structure's updates.
// Paper: the logs of PLDU are per core, and a thread first checks whether the log is another
//   structure's before it adds (figure 5). In a kernel nothing can happen between the two. Here
//   another thread could run, so logs belong to threads. A row outlives its thread, together with
//   its contents, and the next thread takes it over, so readers miss nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <unistd.h>

#include "lockswap/guard.hpp"
#include "lockswap/ldu/chain.hpp"
#include "lockswap/ldu/forks.hpp"
#include "lockswap/machine.hpp"

namespace lockswap {

/// @cond private
template <class Structure, class Lock, class P, std::size_t kLimit>
class ldu_stamped;

namespace ldu_parts {

template <class P>
struct slot;

// What logs need from a structure.
template <class P>
class owner : public member<P> {
 public:
  // Applies that log of this structure if its lock is free. Called by the log's thread, or by the
  // thread that has taken over its row.
  virtual bool try_apply(slot<P>& s) = 0;

 protected:
  ~owner() = default;
};

template <class P>
struct slot {
  static constexpr std::uint64_t kTaking = 1;

  log<P> updates{};
  typename P::template atomic<std::uint64_t> owner_word{};
  typename P::template plain<std::uint32_t> length;  // for its thread: objects since it was empty

  static std::uint64_t word_of(const owner<P>& o) noexcept {
    return reinterpret_cast<std::uintptr_t>(&o);
  }

  // --- for the row's thread
  bool is_of(const owner<P>& o) const noexcept {
    // Relaxed: nobody else changes the owner.
    return (owner_word.load(std::memory_order_relaxed) & ~kTaking) == word_of(o);
  }
  // Called for an empty log. Returns false if a thread is taking it.
  bool give_to(const owner<P>& o) noexcept {
    std::uint64_t now = owner_word.load(std::memory_order_relaxed);  // compared below
    if ((now & kTaking) != 0) return false;
    // seq_cst: acquire, what a taker did before; and before the log is added to: ldu.hpp.
    return owner_word.compare_exchange(now, word_of(o), std::memory_order_seq_cst);
  }

  // --- for a thread with the owner's lock
  std::uint64_t take(const owner<P>& o) noexcept {
    // seq_cst: an announcement was taken before; ldu.hpp.
    std::uint64_t now = owner_word.load(std::memory_order_seq_cst);
    if (now != word_of(o)) return 0;  // empty when it was given to another structure
    // Relaxed: had the slot been given away before, this would fail; later that sees the log taken.
    if (!owner_word.compare_exchange(now, now | kTaking, std::memory_order_relaxed)) return 0;
    const std::uint64_t taken = updates.take();
    owner_word.store(now, std::memory_order_release);  // the log was taken; pairs with give_to
    return taken;
  }
};

}  // namespace ldu_parts
/// @endcond

/// How many threads have logs, and how many structures each of them can log for at once.
struct ldu_machine : real_machine {
  static constexpr std::size_t kThreads = 256;  ///< the others use the structures' own logs
  static constexpr std::size_t kSlots = 64;     ///< of each thread

  /// Ends a forked child that can't go on, with a message.
  template <std::size_t kN>
  [[noreturn]] static void fail(const char (&why)[kN]) noexcept {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, why, kN - 1);
    std::abort();
  }
};

/// The logs of all threads, for any number of structures. Programs use its name lockswap::ldu_logs.
/// Thread-safe, except for the constructor and destructor.
template <class P>
class basic_ldu_logs {
  using word = typename P::template atomic<std::uint64_t>;
  using slot = ldu_parts::slot<P>;
  using owner = ldu_parts::owner<P>;
  struct alignas(64) row {
    word used{};
    word passed{};  // its thread has passed the forks' gate
    std::array<slot, P::kSlots> slots{};
    // For the row's thread only.
    typename P::template plain<ldu_counts> counts;
  };

 public:
  /// A thread's registration, which only that thread may make, use and end. It must end before the
  /// logs.
  class thread {
   public:
    /// Registers this thread. Throws std::bad_alloc.
    explicit thread(basic_ldu_logs& of)
        : of_(of), index_(of.claim()), row_(has_logs() ? of.row_at(index_) : nullptr) {}
    /// Applies what it can without waiting. The rest stays in the row, where readers find it.
    ~thread() {
      if (has_logs()) of_.leave(*row_);
    }
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

    /// Returns false if all rows have a thread already, and then this one's updates go to the
    /// structures' own logs.
    bool has_logs() const noexcept { return index_ < P::kThreads; }
    /// Returns the counts of this row, by this thread and those that had it before.
    ldu_counts counts() const noexcept { return has_logs() ? row_->counts.get() : ldu_counts{}; }

   private:
    template <class, class, class>
    friend class ldu;
    template <class, class, class, std::size_t>
    friend class ldu_stamped;
    friend class basic_ldu_logs;
    basic_ldu_logs& of_;
    const std::size_t index_;
    row* const row_;
  };

  /// Makes logs without a thread or structure.
  basic_ldu_logs() noexcept = default;
  /// No thread and no structure may be left.
  ~basic_ldu_logs() {
    for (std::size_t i = 0; i < P::kThreads; ++i) {
      if (row* r = row_at(i); r != nullptr) {
        r->~row();
        P::template give<row>(r);
      }
    }
  }
  basic_ldu_logs(const basic_ldu_logs&) = delete;
  basic_ldu_logs& operator=(const basic_ldu_logs&) = delete;

  // --- forks of a program with several threads: ldu/forks.hpp
  /// Must be called before a fork of a program with several threads. Waits until no thread reads,
  /// applies or logs, and lets none begin. Must not be called in a read. Afterwards the parent must
  /// call after_fork(), even if there was no fork, and the child forked().
  void before_fork() {
    guard_.lock();
    members_.hold_all();
    gate_.close();
    for (std::size_t i = 0; i < P::kThreads; ++i) {
      row* const r = row_at(i);
      // seq_cst: the fork's second step. acquire: what went into the log; pairs with leave_gate.
      unsigned round = 0;
      while (r != nullptr && r->passed.load(std::memory_order_seq_cst) != 0)
        P::step_aside(round++);
    }
    members_.wait_for_all();
  }
  /// Lets the parent's threads go on.
  void after_fork() {
    gate_.open();
    members_.let_all_go();
    guard_.unlock();
  }
  /// Called in the child by its only thread, before anything else. Frees the rows of threads that
  /// don't exist there. Their contents stay, and readers find them. Without before_fork(), this
  /// ends the program if another thread was reading, applying or logging at the fork.
  void forked(const thread& me) { forked_with(me.index_); }
  /// The same in a thread that is not registered.
  void forked() { forked_with(P::kThreads); }  // if that thread is not registered

 private:
  template <class, class, class>
  friend class ldu;
  template <class, class, class, std::size_t>
  friend class ldu_stamped;

  void forked_with(std::size_t mine) {
    // All relaxed: there is one thread.
    if (gate_.is_closed()) {
      members_.renew();
      gate_.open();
    } else if (!is_idle()) {
      P::fail(
          "lockswap/ldu: a fork without before_fork() met another thread in an update or a read\n");
    }
    guard_.renew();
    for (std::size_t i = 0; i < P::kThreads; ++i) {
      row* const r = row_at(i);
      if (r == nullptr) continue;
      r->passed.store(0, std::memory_order_relaxed);  // one may have been turning back at the gate
      if (i != mine) r->used.store(0, std::memory_order_relaxed);
    }
  }
  // For a child: returns whether the parent's other threads were doing something else.
  bool is_idle() {
    if (guard_.is_locked()) return false;
    for (std::size_t i = 0; i < P::kThreads; ++i) {
      row* const r = row_at(i);
      if (r != nullptr && r->passed.load(std::memory_order_relaxed) != 0) return false;
    }
    return members_.are_idle();  // a log is being taken only under its structure's lock
  }

  void pass_gate(row& r) noexcept {
    // seq_cst: forks.hpp.
    gate_.pass([&r] { r.passed.store(1, std::memory_order_seq_cst); }, [&r] { leave_gate(r); });
  }
  // release: what went into the log; pairs with before_fork.
  static void leave_gate(row& r) noexcept { r.passed.store(0, std::memory_order_release); }

  void begin(ldu_parts::member<P>& m) {
    guard_.lock();
    members_.add(m);
    guard_.unlock();
  }

  std::uint64_t next_number() noexcept {
    return numbers_.fetch_add(1, std::memory_order_relaxed);  // only has to be unique
  }

  row* row_at(std::size_t i) const noexcept {
    // acquire: the row; pairs with claim.
    return reinterpret_cast<row*>(rows_[i].load(std::memory_order_acquire));
  }
  static slot& slot_in(row& r, std::uint64_t number) noexcept {
    return r.slots[number % P::kSlots];
  }

  std::size_t claim() {
    for (std::size_t i = 0; i < P::kThreads; ++i) {
      if (row_at(i) == nullptr) add_row(i);
      std::uint64_t free = 0;
      // acquire: what the previous thread did in its row; pairs with leave.
      if (row_at(i)->used.compare_exchange(free, 1, std::memory_order_acquire)) return i;
    }
    return P::kThreads;
  }
  void add_row(std::size_t i) {
    row* r = new (P::template take<row>()) row;
    r->counts.set({});
    std::uint64_t none = 0;
    // release: the row; pairs with row_at.
    if (!rows_[i].compare_exchange(none, reinterpret_cast<std::uintptr_t>(r),
                                   std::memory_order_release)) {
      r->~row();
      P::template give<row>(r);
    }
  }
  void leave(row& r) {
    for (slot& s : r.slots)
      empty(s);
    r.used.store(0, std::memory_order_release);  // pairs with claim
  }

  // Called by the row's thread. Returns false if the log's structure is in use.
  bool empty(slot& s) {
    if (s.updates.is_empty_to_owner()) return true;
    if (!guard_.try_lock()) return false;
    // The owner can't end now, unless it has emptied the log and is gone already.
    bool done = s.updates.is_empty();
    if (!done) {
      const std::uint64_t of = s.owner_word.load(std::memory_order_relaxed) & ~slot::kTaking;
      done = reinterpret_cast<owner*>(of)->try_apply(s);
    }
    guard_.unlock();
    return done;
  }

  ldu_parts::members<P> members_{};
  // While it is held no structure ends. Its holder waits for no structure's lock.
  guard<P> guard_;
  word numbers_{};
  alignas(64) ldu_parts::gate<P> gate_{};  // read by updates, and rarely written
  std::array<word, P::kThreads> rows_{};
};

/// The logs of a program.
using ldu_logs = basic_ldu_logs<ldu_machine>;
/// The hook of an object.
using ldu_hook = basic_ldu_hook<ldu_machine>;

}  // namespace lockswap
