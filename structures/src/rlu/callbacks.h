// Callbacks after a grace period.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.8, mentions that they are
//   missing. They work like call_rcu in user-space RCU (M. Desnoyers and others, IEEE TPDS 2012).
// Idea: all callbacks are on one stack. A thread that must wait for readers anyway takes all of
//   them before it waits, and calls them afterwards. If no such thread comes, a thread that has
//   added many does so when it is outside a section. The library has no thread of its own.
// Invariants: a callback is taken before the clock moves, and called when all readers with an older
//   time have left. `batches` counts the threads that have taken some. It is incremented before the
//   stack is emptied, so when it is 0, everything that is not on the stack has been called.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/commit.h"
#include "rlu/context.h"
#include "rlu/shared.h"

namespace lockswap::rlu {

struct Callback {
  Callback* next;
  void (*function)(Callback*);
};

// The callbacks that a thread has taken off the stack.
template <Platform P>
class Batch {
 public:
  // Called before the clock moves.
  void take() noexcept {
    auto& all = shared<P>();
    // acquire: if another thread has taken them, barrier() then sees it in the count.
    if (all.callbacks.load(acquire) == 0) return;
    all.batches.fetch_add(1, relaxed);  // relaxed: the exchange publishes it
    // acquire: pairs with call(). release: pairs with the load above, and with this exchange in
    // other threads.
    newest_ = reinterpret_cast<Callback*>(all.callbacks.exchange(0, acq_rel));
    counted_ = true;
  }
  // Called outside a section, when the readers from before have left. Calls them in the order in
  // which they were added.
  void run(Context<P>& me) noexcept {
    if (!counted_) return;
    Callback* first = nullptr;
    while (newest_ != nullptr) {
      Callback* const c = newest_;
      newest_ = c->next;
      c->next = first;
      first = c;
    }
    const bool nested = me.in_callback;
    me.in_callback = true;
    while (first != nullptr) {
      Callback* const c = first;
      first = c->next;
      c->function(c);
    }
    me.in_callback = nested;
    shared<P>().batches.fetch_sub(1, release);  // release: what they did; pairs with barrier
    counted_ = false;
  }

 private:
  Callback* newest_ = nullptr;
  bool counted_ = false;
};

template <Platform P, Heap H>
class Callbacks {
  using C = Context<P>;

 public:
  static void call(C& me, Callback* c) noexcept {
    auto& newest = shared<P>().callbacks;
    std::uint64_t head = newest.load(relaxed);
    do {
      c->next = reinterpret_cast<Callback*>(head);
      // release: the callback, and what its thread did before; pairs with take.
    } while (!newest.compare_exchange(head, reinterpret_cast<std::uintptr_t>(c), release));
    ++me.callbacks;
    me.duties |= C::kCallbacks;
  }

  // Called outside a section, if the thread has added many.
  static void look_after(C& me) noexcept {
    if (me.callbacks >= P::kManyCallbacks && !me.in_callback) run_all(me);
  }
  // Waits for readers, and runs the callbacks that were added before.
  static void run_all(C& me) noexcept {
    me.callbacks = 0;
    me.duties &= ~static_cast<std::uint32_t>(C::kCallbacks);
    Batch<P> mine;
    mine.take();
    Commit<P, H>::synchronize(me);
    mine.run(me);
  }
  // Also waits for those that other threads have taken.
  static void barrier(C& me) noexcept {
    run_all(me);
    // acquire: pairs with run.
    P::await(Pause::nap, shared<P>().batches, acquire, [](std::uint32_t n) { return n == 0; });
  }
};

}  // namespace lockswap::rlu
