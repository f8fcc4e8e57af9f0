// Threads that come and go, and the child of a fork.
//
// A thread that exits in a section has it aborted; what it has deferred takes effect then.
//
// Fork. A child's copy of the memory is that of one moment between two stores of each thread. The
// first thread of the child that is in no section puts in order what the others have left:
//   1. the numbers of commits that never came are drawn anew (CommitClock::forked)
//   2. their sections, as readers, are over
//   3. their sections, as writers, are undone, and what they have unlocked is found out: for all of
//      them, before anything is freed
//   4. what they have deferred takes effect, from wherever it had got to: each step can be done
//      twice (commit.h). It waits for a section of the child's thread, as for any other.
//   5. their contexts are for new threads. Where no handler has run and another thread comes first,
//      one of them may be that of the thread that forked; so they stay as they are.
// A section that is going on when its thread forks goes on in the child, with its locks.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/commit.h"
#include "rlu/context.h"
#include "rlu/shared.h"

namespace lockswap::rlu {

template <Platform P, Heap H>
class Threads {
  using C = Context<P>;

 public:
  // The calling thread's context, in no section; nullptr if there is no memory.
  static C* attach() noexcept {
    auto& mine = local<P>();
    if (mine.mark == P::process_mark()) [[likely]]
      return mine.context;
    return arrive();
  }
  // The same in a section or in none. Never nullptr in a section.
  static C* current() noexcept { return local<P>().context; }

  // In a forked child, by the one thread that is left, before there are others: its context is not
  // of a thread that is gone.
  static void forked() noexcept {
    // relaxed: other threads are created after this.
    if (C* const c = current(); c != nullptr) c->process.store(P::process(), relaxed);
    shared<P>().survivor.store(P::process(), relaxed);
  }

  // In no section, when the caller needs the context no more: if it has no exit hook.
  static void end_lease(const C& c) noexcept {
    const bool is_over = c.depth == 0 && c.writer_locks == 0 && !c.in_callback;
    if ((c.duties & C::kLeased) != 0 && is_over) [[unlikely]]
      give_back();
  }

 private:
  static void give_back() noexcept {
    C* const c = local<P>().context;
    c->use(C::kOwner);
    if (c->deferred != 0) Commit<P, H>::take_effect(*c, *c);
    c->leave();
    local<P>() = {};
    c->duties = 0;
    ClockRows<P>::abandon(*c);
  }

  [[gnu::noinline]] static C* arrive() noexcept {
    auto& mine = local<P>();
    const std::uint64_t here = P::process();
    // Only a thread of an ancestor that has survived has one already.
    if (mine.context != nullptr) {
      mine.context->process.store(here, relaxed);
      shared<P>().survivor.store(here, release);  // whose it is; pairs with put_in_order
    }
    if (mine.context == nullptr) {
      // In a process that has forked, contexts are not free before they have been repaired.
      C* const c = new_context<P>();
      if (c == nullptr) return nullptr;
      P::check([c] { return c->is_at_rest(); });
      mine.context = c;
      c->duties = 0;
      if (!P::on_thread_exit(&at_thread_exit)) c->duties = C::kLeased;
    }
    mine.mark = P::process_mark();
    repair(*mine.context, here);
    return mine.context;
  }

  static void at_thread_exit() noexcept {
    C* const c = local<P>().context;
    if (c == nullptr) return;
    if (c->depth != 0) {
      c->depth = 0;
      if ((c->duties & C::kWriting) != 0) {
        Commit<P, H>::undo(*c);
        c->leave();
      }
      ClockRows<P>::end(*c);
    }
    c->writer_locks = c->limit = 0;
    c->conflict = nullptr;  // both are for an abort that does not come
    c->no_memory = false;
    attach();  // it may be the first call in a forked child
    give_back();
  }

  // --- fork

  // Once in each process: the first is in order from the start, and does the same.
  static void repair(C& me, std::uint64_t here) noexcept {
    auto& process = shared<P>().process;
    std::uint64_t of = process.load(acquire);  // pairs with the store below
    if (of == here) return;
    // Another thread may be at it.
    if (of == busy(here) || !process.compare_exchange(of, busy(here), acquire)) {
      P::await(Pause::nap, process, acquire, [here](std::uint64_t p) { return p == here; });
      return;
    }
    // Nothing is left by others where there were none.
    if (of != 0) put_in_order(me, here);
    process.store(here, release);  // pairs with the load above
  }
  static constexpr std::uint64_t busy(std::uint64_t process) noexcept { return process | 1; }

  // Step by step for all: what takes effect waits for readers. relaxed, all: the fork has handed on
  // what other threads did, and repair() hands this on.
  static void put_in_order(C& me, std::uint64_t here) noexcept {
    shared<P>().clock.forked();
    shared<P>().batches.store(me.in_callback ? 1 : 0, relaxed);
    // acquire: pairs with arrive.
    const bool knows_survivor = shared<P>().survivor.load(acquire) == here;
    each_context<P>([&](C& c) {
      if (is_gone(c, here)) c.word.store(0, relaxed);
    });
    each_context<P>([&](C& c) {
      if (c.freeing) return;
      const bool gone = is_gone(c, here);
      const std::uint32_t user = c.user.load(relaxed);
      if (gone && user == C::kOwner) Commit<P, H>::undo(c);
      if (gone || user == C::kHelper) Commit<P, H>::forget_unlocked(c);
    });
    each_context<P>([&](C& c) {
      const bool gone = is_gone(c, here);
      const std::uint32_t user = c.user.load(relaxed);
      // Also the surviving thread's, if a thread helped it that is gone.
      if (gone || user == C::kHelper) {
        c.user.store(C::kHelper, relaxed);
        if (c.log().last() != nullptr) Commit<P, H>::take_effect(me, c);
        c.log().clear();
        c.deferred = 0;
        c.freeing = false;
        c.leave();
      }
      if (!gone) return;
      c.depth = c.duties = c.writer_locks = c.limit = 0;
      c.in_callback = false;
      c.conflict = nullptr;
      c.no_memory = false;
      if (knows_survivor) ClockRows<P>::abandon(c);
    });
  }
  static bool is_gone(const C& c, std::uint64_t here) noexcept {
    const std::uint64_t of = c.process.load(relaxed);
    return of != 0 && of != here;
  }
};

}  // namespace lockswap::rlu
