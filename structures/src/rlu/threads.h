// Threads that begin and end, and the child of a fork.
//
// If a thread exits in a section, the section is aborted, and then its deferred commits take
// effect.
//
// Fork: a child's memory is a snapshot between two stores of each thread. The child's first thread
//   that is outside a section cleans up what the other threads have left:
//   1. numbers of commits that never came are drawn again (CommitClock::forked)
//   2. the other threads' sections end, as readers
//   3. their sections are undone, as writers, and what they have unlocked is found out, for all of
//      them before anything is freed
//   4. their deferred commits take effect, from wherever they had got to, since each step can be
//      repeated (commit.h). This waits for a section of the child's thread, as for any other
//   5. their contexts become free for new threads. But if no handler has run and another thread
//      comes first, one of them may belong to the thread that forked, so they stay as they are
// A section during which its thread forks continues in the child, with its locks.
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
  // Returns the calling thread's context, outside a section, or nullptr if there is no memory.
  static C* attach() noexcept {
    auto& mine = local<P>();
    if (mine.mark == P::process_mark()) [[likely]]
      return mine.context;
    return arrive();
  }
  // The same, also in a section, where it is never nullptr.
  static C* current() noexcept { return local<P>().context; }

  // Called in a forked child by its only thread, before there are others: its context does not
  // belong to a thread that is gone.
  static void forked() noexcept {
    // relaxed: other threads are created after this.
    if (C* const c = current(); c != nullptr) c->process.store(P::process(), relaxed);
    shared<P>().survivor.store(P::process(), relaxed);
  }

  // Called outside a section when the caller no longer needs the context: ends the lease if there
  // is one.
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
    // Only the surviving thread of an ancestor has a context already.
    if (mine.context != nullptr) {
      mine.context->process.store(here, relaxed);
      shared<P>().survivor.store(here, release);  // release: whose it is; pairs with put_in_order
    }
    if (mine.context == nullptr) {
      // After a fork, contexts are not free before they have been repaired.
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
    c->conflict = nullptr;  // both are for an abort that will not come
    c->no_memory = false;
    attach();  // this may be the first call in a forked child
    give_back();
  }

  // --- fork

  // Called once in each process. The first process needs no repair, but also comes through here.
  static void repair(C& me, std::uint64_t here) noexcept {
    auto& process = shared<P>().process;
    std::uint64_t of = process.load(acquire);  // pairs with the store below
    if (of == here) return;
    // Another thread may be repairing.
    if (of == busy(here) || !process.compare_exchange(of, busy(here), acquire)) {
      P::await(Pause::nap, process, acquire, [here](std::uint64_t p) { return p == here; });
      return;
    }
    // Without a previous process there is nothing to repair.
    if (of != 0) put_in_order(me, here);
    process.store(here, release);  // pairs with the load above
  }
  static constexpr std::uint64_t busy(std::uint64_t process) noexcept { return process | 1; }

  // Does each step for all contexts before the next step, because commits that take effect wait for
  // readers. relaxed, all: the fork has handed on what other threads did, and repair() hands this
  // on.
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
