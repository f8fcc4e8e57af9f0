// How the changes of a section take effect.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.5, lines 44 to 73, and
//   section 3.7.
// Idea: the log of a section is kept (deferred) until it takes effect, together with what the same
//   thread has deferred before:
//     1. draw the time and set the write clock to it; when that time comes, new readers read the
//        copies
//     2. wait until all readers with an older time have left
//     3. write the copies back     4. unlock the objects     5. free what is gone
//     6. write clock to 0: nobody reads copies any more      7. swap the logs
//   The thread itself does this, or a helper, which is a thread that wants one of its objects
//   (help). The helper has left its own section and has acquired the word `user`, so the owner has
//   no section in that log then.
// Invariants: of an object's entries only the one that its word names is written back, which is the
//   thread's newest. The log that step 7 makes active was written back before this step 2 began, so
//   readers that found a copy there have left, and it can be overwritten.
// Aborted entries: one can be overwritten at once, although a reader may still have its address.
//   The reader reads the chunk's head, and takes the copy only if its time is that of the commit or
//   later. But it found the address before the abort removed it, so it began before the next
//   commit.
// Deviations: helping is the paper's proposal (3.7). A section may lock what the same thread has
//   deferred (in the paper the thread synchronizes first): the new copy is made from the older one,
//   and an abort restores that one. Objects are freed only after step 2, without another grace
//   period.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/context.h"
#include "rlu/object.h"
#include "rlu/shared.h"

namespace lockswap::rlu {

template <Platform P, Heap H>
class Commit {
  using C = Context<P>;
  using Log = typename C::Log;

 public:
  // Waits until all sections with an older time have ended. `fenced` is what move_to has returned
  // for that time; false is always safe. Counted for `me`.
  static void wait_for_readers(C& me, std::uint64_t time, bool fenced) noexcept {
    const auto fence = [fenced] {
      if (fenced) {
        P::full_fence();
      } else {
        shared<P>().clock.fence().barrier();
      }
    };
    me.tallies.wait_loops.add(shared<P>().rows.wait_for_older(time, fence));
    me.tallies.synchronizes.add(1);
  }
  // The same for all sections that have begun.
  static void synchronize(C& me) noexcept {
    const std::uint64_t time = shared<P>().clock.draw();
    wait_for_readers(me, time, shared<P>().clock.move_to(time));
  }

  // Lets c's deferred commits take effect. Called by `me` outside a section, while it has c's logs.
  static void take_effect(C& me, C& c) noexcept {
    auto& clock = shared<P>().clock;
    // relaxed, for all accesses of the write clock except step 6: the clock publishes it. In a
    // forked child it may be nonzero, if a thread that is gone was doing this. If that time has
    // come, readers use it.
    std::uint64_t time = c.write_clock.load(relaxed);
    bool fenced = false;
    if (time == 0 || !clock.has_come(time)) {
      time = clock.draw();
      c.write_clock.store(time, relaxed);
      fenced = clock.move_to(time);
    }
    wait_for_readers(me, time, fenced);
    finish(me, c);
  }

  // Ends the present section in c's log, and undoes it.
  static void undo(C& c) noexcept {
    for (Entry* e = c.log().last(); e != c.log().begun(); e = e->before) {
      if (e->kind == Kind::gone) continue;
      auto& h = header_of<P>(e->object);
      // release: pairs with the next thread's lock. For readers see the head.
      if (is_newest(h, e)) h.lock.store(e->previous, release);
    }
    c.log().cut();
  }

  // Called in a forked child, before anything is freed there, for each thread that is gone. Marks
  // the entries of objects that it has unlocked, because their words must not be read later.
  static void forget_unlocked(C& c) noexcept {
    for (Entry* e = c.log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone || e->kind == Kind::stale) continue;
      if (!is_newest(header_of<P>(e->object), e)) e->kind = Kind::stale;
    }
  }

  // Called by a thread outside a section that failed to lock an object because of `c`. Waits for
  // the end of the section in which c locks objects, and lets c's deferred commits take effect.
  static void help(C& me, C& c) noexcept {
    if (!c.try_use(C::kHelper)) {
      c.wait_until_free();
      if (!c.try_use(C::kHelper)) return;
    }
    if (c.deferred != 0) {
      if (&me != &c) me.tallies.helps.add(1);
      take_effect(me, c);
    }
    c.leave();
  }

 private:
  static bool is_newest(const Header<P>& h, const Entry* e) noexcept {
    // relaxed: only this thread's own lock matters.
    return h.lock.load(relaxed) == Log::lock_word(e);
  }

  // Steps 3 to 7. In a forked child it continues where a thread that is gone has stopped. Until
  // `freeing` is set the steps are repeated, and an object's word says whether it is unlocked.
  static void finish(C& me, C& c) noexcept {
    if (!c.freeing) {
      write_back(me, c);
      // Other threads wait for this one as for a reader, so an object that it unlocks is not freed
      // before its entry is stale. This is for a forked child, which reads the words of the objects
      // of all other entries.
      ClockRows<P>::begin_at(me, c.write_clock.load(relaxed));  // relaxed: see take_effect
      unlock(c);
      ClockRows<P>::end(me);
      P::fork_point();
      c.freeing = true;
    }
    free_gone(c);
    // Publishes step 3; pairs with a reader that finds nothing to steal.
    c.write_clock.store(0, release);
    c.wanted.store(0, relaxed);  // relaxed: a hint
    me.tallies.syncs.add(1);
    c.deferred = 0;
    c.other_log().clear();
    P::fork_point();
    c.active = 1 - c.active;
    P::fork_point();
    c.freeing = false;
    c.tallies.log_bytes.set(c.log().bytes() + c.other_log().bytes());
  }
  // Also marks stale entries: as soon as one object is unlocked, another thread may lock and free
  // it, so its word must not even be read for an older entry.
  static void write_back(C& me, C& c) noexcept {
    for (Entry* e = c.log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone || e->kind == Kind::stale) continue;
      auto& h = header_of<P>(e->object);
      if (!is_newest(h, e)) {
        e->kind = Kind::stale;
        continue;
      }
      if (e->kind != Kind::copy) continue;
      P::copy(e->object, Log::copy_of(e), h.size);
      me.tallies.write_backs.add(1);
    }
  }
  static void unlock(C& c) noexcept {
    for (Entry* e = c.log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone || e->kind == Kind::stale) continue;
      // Publishes step 3; pairs with dereference.
      header_of<P>(e->object).lock.store(kUnlocked, release);
      P::fork_point();
      e->kind = Kind::stale;
    }
  }
  static void free_gone(C& c) noexcept {
    for (Entry* e = c.log().last(); e != nullptr; e = e->before) {
      if (e->kind != Kind::gone || e->object == nullptr) continue;
      void* const gone = &header_of<P>(e->object);
      e->object = nullptr;
      P::fork_point();
      H::give(gone);
    }
  }
};

}  // namespace lockswap::rlu
