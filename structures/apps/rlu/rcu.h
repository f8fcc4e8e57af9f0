// liburcu's flavours behind one interface: memb, qsbr and bp.
//
// Readers are inlined, as liburcu offers for code whose license allows it: by _LGPL_SOURCE. The
// build defines it, since it must be known before the first of liburcu's headers.
// ThreadSanitizer does not see liburcu's fences: what a grace period orders is said to it here.
#pragma once

#include <type_traits>

#ifndef _LGPL_SOURCE
#error "link with inlined_liburcu, which defines _LGPL_SOURCE"
#endif
#include <urcu/urcu-bp.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-qsbr.h>

#ifdef __SANITIZE_THREAD__
#include <atomic>
#include <sanitizer/tsan_interface.h>
#include <thread>
#endif

// Only the header that comes first declares its own.
extern "C" {
extern const struct rcu_flavor_struct urcu_memb_flavor;
extern const struct rcu_flavor_struct urcu_qsbr_flavor;
extern const struct rcu_flavor_struct urcu_bp_flavor;
}

namespace bench {

#ifdef __SANITIZE_THREAD__
// Sections that have ended come before what follows a grace period, and a call before its function.
// Nothing else is said: a node that is freed while a section may look at it is still reported.
class RcuOrder {
 public:
  static void section_ends() { __tsan_release(&ended()); }
  static void period_is_over() { __tsan_acquire(&ended()); }
  static void called(rcu_head* head) { __tsan_release(head); }
  static void calls_back(rcu_head* head) {
    __tsan_acquire(head);
    period_is_over();
  }

 private:
  static char& ended() {
    static char place;
    return place;
  }
};
#else
struct RcuOrder {
  static void section_ends() {}
  static void period_is_over() {}
  static void called(rcu_head*) {}
  static void calls_back(rcu_head*) {}
};
#endif

// Registered from the first attach() to the end of the thread.
template <const rcu_flavor_struct& kFlavour>
class RcuThread {
 public:
  static void attach() { thread_local const RcuThread here; }

 private:
  RcuThread() { kFlavour.register_thread(); }
  ~RcuThread() { kFlavour.unregister_thread(); }
};

template <const rcu_flavor_struct& kFlavour>
struct RcuUpdates {
  static const rcu_flavor_struct& flavour() noexcept { return kFlavour; }
  static void attach() { RcuThread<kFlavour>::attach(); }
  static void synchronize() {
    kFlavour.update_synchronize_rcu();
    RcuOrder::period_is_over();
  }
  template <class Function>  // without captures
  static void call(rcu_head* head, Function) {
    static_assert(std::is_empty_v<Function>);
    RcuOrder::called(head);
    kFlavour.update_call_rcu(head, [](rcu_head* h) {
      RcuOrder::calls_back(h);
      Function{}(h);
    });
  }
#ifdef __SANITIZE_THREAD__
  // liburcu's own frees what it has made with nothing that ThreadSanitizer would see. There is one
  // thread that calls back, in the order of the calls; so the last call is waited for.
  static void barrier() {
    struct Last : rcu_head {
      std::atomic<bool> is_over{false};
    } last;
    call(&last, [](rcu_head* head) { static_cast<Last*>(head)->is_over.store(true); });
    offline();
    while (!last.is_over.load())
      std::this_thread::yield();
    online();
  }
#else
  static void barrier() { kFlavour.barrier(); }
#endif
  // Around what may wait.
  static void offline() { kFlavour.thread_offline(); }
  static void online() { kFlavour.thread_online(); }
};

struct Memb : RcuUpdates<urcu_memb_flavor> {
  static void read_lock() { urcu_memb_read_lock(); }
  static void read_unlock() { urcu_memb_read_unlock(); }
  static void operation_ends() {}
};
struct Bp : RcuUpdates<urcu_bp_flavor> {
  static void read_lock() { urcu_bp_read_lock(); }
  static void read_unlock() { urcu_bp_read_unlock(); }
  static void operation_ends() {}
};
struct Qsbr : RcuUpdates<urcu_qsbr_flavor> {
  static void read_lock() { urcu_qsbr_read_lock(); }
  static void read_unlock() { urcu_qsbr_read_unlock(); }
  // Says every now and then that the thread looks at nothing: what this flavour lives by.
  static void operation_ends() {
    thread_local unsigned operations = 0;
    if (++operations % 16 == 0) urcu_qsbr_quiescent_state();
  }
};

// What a thread calls on a set over a flavour; offline and online stand around a wait.
template <class F>
struct RcuThreadCalls {
  static void attach() { F::attach(); }
  static void flush() { F::barrier(); }
  static void offline() { F::offline(); }
  static void online() { F::online(); }
};

template <class F>
class RcuReading {
 public:
  RcuReading() { F::read_lock(); }
  ~RcuReading() {
    RcuOrder::section_ends();
    F::read_unlock();
    F::operation_ends();
  }
  RcuReading(const RcuReading&) = delete;
  RcuReading& operator=(const RcuReading&) = delete;
};

// A mutex for writers, whose wait holds nobody up that waits for readers.
template <class F, class Mutex>
class RcuWriting {
 public:
  explicit RcuWriting(Mutex& mutex) : mutex_(mutex) {
    if (mutex_.try_lock()) return;
    F::offline();
    mutex_.lock();
    F::online();
  }
  ~RcuWriting() { mutex_.unlock(); }
  RcuWriting(const RcuWriting&) = delete;
  RcuWriting& operator=(const RcuWriting&) = delete;

 private:
  Mutex& mutex_;
};

// How removed nodes are freed: by call_rcu's thread, or by the writer, which waits.
enum class Freeing { call, wait };

// `node` has a member `head`. Not while a lock is held.
template <class F, Freeing kFreeing, class Node>
void free_later(Node* node) {
  if constexpr (kFreeing == Freeing::call) {
    F::call(&node->head, [](rcu_head* head) {
      delete reinterpret_cast<Node*>(reinterpret_cast<char*>(head) - offsetof(Node, head));
    });
  } else {
    F::synchronize();
    delete node;
  }
}

}  // namespace bench
