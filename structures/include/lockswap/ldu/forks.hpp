// How forks see LDU's structures and threads (lockswap/ldu.hpp).
//
// Idea: the thread that forks first takes every structure's lock, so no log is being applied and
//   nobody reads. Then it closes a gate and waits for threads that have passed it, which are
//   between an object's mark and the object's log. An update that adds nothing to a log is a single
//   exchange, and passes no gate.
// Order: a Dekker pair, all of it seq_cst:
//     an update   1. publishes that it passes    2. checks whether the gate is closed
//     the fork    1. closes the gate             2. checks whether a thread has passed
//   One of the two sees the other. An update that finds the gate closed withdraws.
// Result: in the child each marked object is in a log, each log is complete, and no lock is held.
//   An update that waited at the gate has not begun there.
// Locks: they are made anew in the child, because not every kind of lock can be released there if
//   it was taken in the parent (glibc's rwlocks compare thread ids).
// Deadlocks: the locks are taken as std::lock does it, so threads that hold one lock and wait for
//   another don't deadlock with the fork. Between mark and log no thread waits for a lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "lockswap/machine.hpp"

/// @cond private
namespace lockswap {

template <class P>
class basic_ldu_logs;

namespace ldu_parts {

// A structure.
template <class P>
class member {
 public:
  member() noexcept = default;
  member(const member&) = delete;
  member& operator=(const member&) = delete;

 protected:
  ~member() = default;

 private:
  template <class>
  friend class members;
  // Takes its lock as a writer.
  virtual bool try_hold() = 0;
  virtual void hold() = 0;
  virtual void let_go() = 0;
  // Called with the lock. Returns false if a thread is on its way into the structure's own log.
  virtual bool is_whole() = 0;
  // Called in a child whose thread held the lock. Makes a new one, which nobody holds.
  virtual void renew() = 0;

  typename P::template plain<member*> next_;
  typename P::template plain<member*> before_;
};

// All structures of the same logs. Used under the logs' guard.
template <class P>
class members {
 public:
  void add(member<P>& m) noexcept {
    member<P>* const next = first_.get();
    m.next_.set(next);
    m.before_.set(nullptr);
    if (next != nullptr) next->before_.set(&m);
    first_.set(&m);
  }
  void drop(member<P>& m) noexcept {
    member<P>* const next = m.next_.get();
    member<P>* const before = m.before_.get();
    if (next != nullptr) next->before_.set(before);
    before != nullptr ? before->next_.set(next) : first_.set(next);
  }

  // Waits for one lock only while it holds none.
  void hold_all() {
    for (member<P>* waits_for = first_.get(); waits_for != nullptr;) {
      waits_for->hold();
      member<P>* const failed = try_hold_others(*waits_for);
      if (failed == nullptr) return;
      waits_for->let_go();
      waits_for = failed;
    }
  }
  void let_all_go() {
    each([](member<P>& m) { m.let_go(); });
  }
  void wait_for_all() {
    each([](member<P>& m) {
      unsigned round = 0;
      while (!m.is_whole())
        P::step_aside(round++);
    });
  }
  void renew() {
    each([](member<P>& m) { m.renew(); });
  }
  // Returns whether no lock is held, and no thread is on its way.
  bool are_idle() {
    bool idle = true;
    each([&idle](member<P>& m) {
      const bool held = m.try_hold();
      idle = idle && held && m.is_whole();
      if (held) m.let_go();
    });
    return idle;
  }

 private:
  template <class F>
  void each(F f) {
    for (member<P>* m = first_.get(); m != nullptr; m = m->next_.get())
      f(*m);
  }
  // Returns the structure whose lock was not free, and then none is held.
  member<P>* try_hold_others(const member<P>& held) {
    for (member<P>* m = first_.get(); m != nullptr; m = m->next_.get()) {
      if (m == &held || m->try_hold()) continue;
      for (member<P>* back = first_.get(); back != m; back = back->next_.get()) {
        if (back != &held) back->let_go();
      }
      return m;
    }
    return nullptr;
  }

  typename P::template plain<member<P>*> first_;
};

// The gate that updates pass on their way into a log.
template <class P>
class gate {
  using word = typename P::template atomic<std::uint64_t>;

 public:
  // --- for updates: enter() publishes that the thread passes, and leave() withdraws that.
  template <class Enter, class Leave>
  void pass(Enter enter, Leave leave) noexcept {
    for (;;) {
      enter();  // seq_cst: the update's first step
      // seq_cst: the update's second step.
      if (closed_.load(std::memory_order_seq_cst) == 0) return;
      leave();
      // Relaxed: a fork changes nothing in the parent.
      for (unsigned round = 0; closed_.load(std::memory_order_relaxed) != 0; ++round)
        P::step_aside(round);
    }
  }
  // --- for the fork
  void close() noexcept { closed_.store(1, std::memory_order_seq_cst); }  // its first step
  void open() noexcept { closed_.store(0, std::memory_order_relaxed); }   // as in pass
  // Called by the thread that closed it, or by the only thread.
  bool is_closed() const noexcept { return closed_.load(std::memory_order_relaxed) != 0; }

 private:
  word closed_{};
};

}  // namespace ldu_parts
}  // namespace lockswap
/// @endcond
