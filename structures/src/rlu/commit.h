// From a section that has changed something to objects that are changed.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.5, lines 44 to 73, and
//   section 3.7.
// Idea: what a section has logged is kept (deferred) until it takes effect, together with what the
//   same thread has kept before:
//     1. draw the time, and set the write clock to it; when it comes, new readers read the copies
//     2. wait until all readers that go by an older time have left
//     3. write the copies back     4. unlock the objects     5. free what is gone
//     6. write clock to 0: nobody reads copies any more      7. swap the logs
//   The thread itself does so, or a helper: one that wants an object of it (help). It has left its
//   own section, and takes the word `user`; so there is no section of the owner's in the log then.
// Invariants: of an object's entries only that which its word names is written back: the newest of
//   the thread. The log that step 7 makes the active one was written back before this step 2 began:
//   a reader that found a copy there has left. So it can be filled anew.
// Why an entry that was aborted can be overwritten at once, while a reader still has its address:
//   the reader looks at the chunk's head, and steals only if its time is that of the commit, or
//   later. It found the address before the abort took it away, so it began before the commit that
//   follows.
// Deviations: helping is the paper's proposal (3.7). A section may lock what the same thread has
//   deferred (the paper's thread synchronizes first): its copy is made from the older copy, and an
//   abort puts that back. Nothing is freed but after step 2, without a grace period more.
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
  // Waits until all sections have ended that go by an older time. `fenced`: as move_to has said for
  // that time; false does no harm. Counted as `me`'s.
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

  // What `c` has deferred takes effect. By `me`, in whose hands the logs are, in no section.
  static void take_effect(C& me, C& c) noexcept {
    auto& clock = shared<P>().clock;
    // relaxed, all of the write clock but step 6: the clock hands it on. It is not 0 if a thread
    // did this that is gone, in a forked child; and if the time has come, readers go by it.
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

  // Ends the section that is going on in c's log, and undoes what it did.
  static void undo(C& c) noexcept {
    for (Entry* e = c.log().last(); e != c.log().begun(); e = e->before) {
      if (e->kind == Kind::gone) continue;
      auto& h = header_of<P>(e->object);
      // release: pairs with the next thread's lock; for readers see above.
      if (is_newest(h, e)) h.lock.store(e->previous, release);
    }
    c.log().cut();
  }

  // In a forked child, before anything is freed there: of a thread that is gone, entries say if it
  // has unlocked their objects, whose words nobody asks then.
  static void forget_unlocked(C& c) noexcept {
    for (Entry* e = c.log().last(); e != nullptr; e = e->before) {
      if (e->kind == Kind::gone || e->kind == Kind::stale) continue;
      if (!is_newest(header_of<P>(e->object), e)) e->kind = Kind::stale;
    }
  }

  // For a thread in no section, of which a lock failed because of `c`: waits until the section is
  // over in which c locks objects, and lets c's deferred commits take effect.
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
    return h.lock.load(relaxed) == Log::lock_word(e);  // relaxed: this thread has it locked, or not
  }

  // Steps 3 to 7. In a forked child it goes on where a thread that is gone has stopped: until
  // `freeing` the steps are done once more, and an object's word says whether it is unlocked.
  static void finish(C& me, C& c) noexcept {
    if (!c.freeing) {
      write_back(me, c);
      // Others wait for it as for a reader: an object that it unlocks is not freed before its entry
      // is stale. For a forked child, which asks the words of the objects of all other entries.
      ClockRows<P>::begin_at(me, c.write_clock.load(relaxed));  // relaxed: see take_effect
      unlock(c);
      ClockRows<P>::end(me);
      P::fork_point();
      c.freeing = true;
    }
    free_gone(c);
    c.write_clock.store(0, release);  // step 3; pairs with a reader that finds nothing to steal
    c.wanted.store(0, relaxed);       // relaxed: a hint
    me.tallies.syncs.add(1);
    c.deferred = 0;
    c.other_log().clear();
    P::fork_point();
    c.active = 1 - c.active;
    P::fork_point();
    c.freeing = false;
    c.tallies.log_bytes.set(c.log().bytes() + c.other_log().bytes());
  }
  // Says also which entries are stale: as soon as one object is unlocked another thread may lock it
  // and free it, so an older entry of it is not even a question to its word.
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
      header_of<P>(e->object).lock.store(kUnlocked, release);  // step 3; pairs with dereference
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
