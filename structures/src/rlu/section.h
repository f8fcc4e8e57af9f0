// Sections, and what a thread does in one: read, lock and free objects.
//
// Paper: Matveev and others, "Read-log-update" (SOSP 2015), section 3.5, lines 1 to 43 and 69 to
//   73.
// Idea: a section reads the state at the time at which it began. An object that is not locked is
//   read in place. If it is locked, its copy is read if the thread itself has locked it, or if the
//   commit of the thread that locked it has a time that is not later than the section's.
// Invariants: an object that a section locks is as the section saw it, because a commit that
//   changed it since has a later time, and waits for the section before it unlocks.
// Order: the object's word is loaded with acquire. This pairs with the unlock, whose thread has
//   written back, and, if the word is an address, with the lock, for the head of the chunk.
// Deviations: nested sections, which are parts of the outermost one; locks without a copy. A lock
//   that fails does not end the section; the caller calls abort. An abort waits until the object is
//   available.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "platform/concept.h"
#include "rlu/callbacks.h"
#include "rlu/commit.h"
#include "rlu/context.h"
#include "rlu/object.h"
#include "rlu/shared.h"
#include "rlu/threads.h"

namespace lockswap::rlu {

// outside: the thread is in no section. nested: it is in a nested one. In both cases nothing has
// been done.
enum class Result : std::uint8_t { done, busy, no_memory, outside, nested };

template <Platform P, Heap H>
class Section {
  using C = Context<P>;
  using Log = typename C::Log;

 public:
  // Returns false if there is no memory for a context.
  [[gnu::always_inline]] static bool begin() noexcept {
    if (local<P>().mark != P::process_mark()) [[unlikely]]
      return begin_first();
    begin(*local<P>().context);
    return true;
  }
  // The fence of a section that needs one (section_fence.h).
  [[gnu::noinline]] static void fence(C& c) noexcept {
    P::full_fence();
    if (++c.fences % C::kFences != 0 || !shared<P>().clock.fence().is_rarely_needed()) return;
    shared<P>().clock.try_turn([] { shared<P>().clock.fence().turn_off(); });
  }
  // Returns done or outside.
  [[gnu::always_inline]] static Result end() noexcept {
    C* const c = local<P>().context;
    if (c == nullptr || c->depth != 1 || c->duties != 0) [[unlikely]]
      return end_another(c);
    c->depth = 0;
    ClockRows<P>::end(*c);
    return Result::done;
  }
  // Ends the thread's section, and undoes what it has locked. no_memory: a lock failed for lack of
  // memory. A nested section can't abort, because the one around it still reads, and only the end
  // of that lets the thread wait for the owner of the object.
  [[gnu::noinline]] static Result abort() noexcept {
    if (!is_inside()) return Result::outside;
    C& c = *local<P>().context;
    if (c.depth != 1) return Result::nested;
    c.tallies.aborts.add(1);
    c.depth = 0;
    forget_section(c);
    if ((c.duties & C::kWriting) != 0) {
      Commit<P, H>::undo(c);
      c.duties &= ~static_cast<std::uint32_t>(C::kWriting);
      ClockRows<P>::end(c);
      c.leave();
    } else {
      ClockRows<P>::end(c);
    }
    Threads<P, H>::attach();
    C* const conflict = c.conflict;
    const bool no_memory = c.no_memory;
    c.conflict = nullptr;
    c.no_memory = false;
    if (conflict != nullptr) Commit<P, H>::help(c, *conflict);
    look_after(c);
    return no_memory ? Result::no_memory : Result::done;
  }

  // Returns the version that this section sees of an object whose word is not 0.
  [[gnu::noinline]] static void* steal(void* object) noexcept {
    const std::uint64_t lock = header_of<P>(object).lock.load(acquire);
    if (lock == kUnlocked || lock == kIsCopy || is_record(lock)) return object;
    if (!is_inside()) return object;  // a bug in the program, which changes nothing
    C& me = *local<P>().context;
    C& other = Log::owner_of(lock);
    if (&other == &me) return copy_at(lock);
    // acquire: if it is 0 again, for what was written back; pairs with Commit::finish.
    const std::uint64_t time = other.write_clock.load(acquire);
    if (time == 0 || time > me.clock) return object;
    me.tallies.steals.add(1);
    return copy_at(lock);
  }
  static void* dereference(void* object) noexcept {
    if (object == nullptr || !is_inside()) return object;
    local<P>().context->tallies.reads.add(1);
    return header_of<P>(object).lock.load(acquire) == kUnlocked ? object : steal(object);
  }
  static void* actual(void* object) noexcept {
    // relaxed: the caller has this copy, or it is no copy.
    if (object == nullptr || header_of<P>(object).lock.load(relaxed) != kIsCopy) return object;
    return Log::entry_of_copy(object)->object;
  }

  // Lets the section's commit be deferred as far as `commits` says, but no further than earlier
  // calls in this section have said. Returns outside if there is no section.
  static Result defer(std::uint32_t commits) noexcept {
    if (!is_inside()) return Result::outside;
    C& c = *local<P>().context;
    c.duties |= C::kNamed;
    if (c.limit == 0 || commits < c.limit) c.limit = commits;
    return Result::done;
  }

  // Returns a copy that may be changed, or nullptr if the caller must abort.
  static void* try_lock(void* given) noexcept { return lock<Kind::copy>(given); }
  // Returns the object as the section sees it, and keeps it so, or nullptr if the caller must
  // abort.
  static void* try_lock_const(void* given) noexcept { return lock<Kind::record>(given); }

  // Called in a section. Abort if it returns busy or no_memory.
  static Result free(void* given) noexcept {
    C& c = *local<P>().context;
    void* const object = actual(given);
    if (!begin_to_write(c)) return fail(c, &c);
    const std::uint64_t held = header_of<P>(object).lock.load(acquire);  // see above
    if (held != kUnlocked && &Log::owner_of(held) != &c) return fail(c, &Log::owner_of(held));
    return append(c, Kind::gone, object, 0) == nullptr ? Result::no_memory : Result::done;
  }

  // Called outside a section: frees the object in a section of its own. Returns busy if another
  // thread has locked it. Waits if another thread only writes back what this one has deferred.
  static Result free_alone(void* object) noexcept {
    for (;;) {
      if (!begin()) return Result::no_memory;
      if (free(object) == Result::done) {
        end();
        return Result::done;
      }
      const C* const c = local<P>().context;
      const bool is_helped = c->conflict == c;
      if (abort() == Result::no_memory) return Result::no_memory;
      if (!is_helped) return Result::busy;
    }
  }

  // Called outside a section: lets the thread's deferred commits take effect.
  static void flush(C& c) noexcept {
    c.use(C::kOwner);
    Batch<P> batch;
    if (c.deferred != 0) {
      batch.take();
      Commit<P, H>::take_effect(c, c);
    }
    c.leave();
    batch.run(c);
  }

  // The same for the deferred commits of all threads.
  static void flush_all(C& me) noexcept {
    // A thread that has ended has no deferred commits.
    shared<P>().rows.each_with_thread([&me](ClockRow<P>& row) {
      C& c = static_cast<C&>(row);
      c.use(&c == &me ? C::kOwner : C::kHelper);
      if (c.deferred != 0) Commit<P, H>::take_effect(me, c);
      c.leave();
    });
  }

  // Called outside a section, before the thread acquires a writer lock: lets its deferred commits
  // take effect. While it has the lock it defers nothing, so a helper finds nothing to do. Unlike
  // flush it calls no callbacks, because they might defer again.
  static void before_writer_lock(C& c) noexcept {
    c.use(C::kOwner);
    if (c.deferred != 0) Commit<P, H>::take_effect(c, c);
    c.leave();
  }

 private:
  static bool is_inside() noexcept {
    const C* const c = local<P>().context;
    return c != nullptr && c->depth != 0;
  }
  [[gnu::always_inline]] static void begin(C& c) noexcept {
    if (c.depth++ != 0) return;
    auto& clock = shared<P>().clock;
    c.clock = ClockRows<P>::begin(c, clock.now(), [&] {
      if (clock.fence().is_on()) [[unlikely]]
        fence(c);
    });
  }
  // A section during which its thread forked continues in the child; see Threads.
  [[gnu::noinline]] static bool begin_first() noexcept {
    C* c = local<P>().context;
    if (c == nullptr || c->depth == 0) c = Threads<P, H>::attach();
    if (c == nullptr) return false;
    begin(*c);
    return true;
  }

  // Ends a nested section, an outermost one with more to do, or returns that there is none.
  [[gnu::noinline]] static Result end_another(C* c) noexcept {
    if (c == nullptr || c->depth == 0) return Result::outside;
    if (c->depth == 1) {
      finish(*c);
    } else {
      --c->depth;
    }
    return Result::done;
  }
  static void finish(C& c) noexcept {
    c.depth = 0;
    if ((c.duties & C::kWriting) != 0) {
      commit(c);
    } else {
      ClockRows<P>::end(c);
    }
    forget_section(c);
    Threads<P, H>::attach();
    look_after(c);
  }
  // Clears the section's settings, and what a check has noted.
  static void forget_section(C& c) noexcept {
    c.limit = 0;
    if ((c.duties & C::kWatched) != 0) c.watch->forget();
    c.duties &= ~static_cast<std::uint32_t>(C::kNamed | C::kWatched);
  }
  static void look_after(C& c) noexcept {
    if ((c.duties & C::kCallbacks) != 0) Callbacks<P, H>::look_after(c);
    Threads<P, H>::end_lease(c);
  }
  static void commit(C& c) noexcept {
    c.duties &= ~static_cast<std::uint32_t>(C::kWriting);
    c.tallies.commits.add(1);
    c.conflict = nullptr;  // a lock may have failed without an abort
    if (!changes(c)) {
      Commit<P, H>::undo(c);
      ClockRows<P>::end(c);
    } else {
      ++c.deferred;
      P::fork_point();
      c.log().begin();  // from here on the section is committed
      ClockRows<P>::end(c);
    }
    Batch<P> batch;
    if (c.deferred != 0 && must_take_effect(c)) {
      Threads<P, H>::attach();  // in a forked child the library is repaired only then
      batch.take();
      Commit<P, H>::take_effect(c, c);
    }
    c.leave();
    batch.run(c);
  }
  // Returns whether the section has done more than lock objects without changing them.
  static bool changes(C& c) noexcept {
    for (const Entry* e = c.log().last(); e != c.log().begun(); e = e->before) {
      if (e->kind != Kind::record) return true;
    }
    return false;
  }
  static bool must_take_effect(const C& c) noexcept {
    // relaxed, both: a setting, and a hint. If a thread sets the hint too late, it helps instead.
    const std::uint32_t limit = c.limit != 0 ? c.limit : shared<P>().limit.load(relaxed);
    return c.deferred >= limit || c.writer_locks != 0 || c.wanted.load(relaxed) != 0 ||
           (c.duties & C::kLeased) != 0;
  }

  // Called at the first lock of the section. Returns false if another thread is writing back this
  // one's deferred commits. With a writer lock that thread is already leaving, so the wait is
  // short, and for no reader. But in a forked child that thread does not exist.
  static bool begin_to_write(C& c) noexcept {
    if ((c.duties & C::kWriting) != 0) return true;
    if (c.writer_locks != 0 && local<P>().mark == P::process_mark()) {
      c.use(C::kOwner);
    } else if (!c.try_use(C::kOwner)) {
      return false;
    }
    c.duties |= C::kWriting;
    ++c.section;
    c.log().begin();
    return true;
  }
  static Entry* append(C& c, Kind kind, void* object, std::size_t size) noexcept {
    Entry* const e = c.log().append(c, kind, object, size);
    if (e == nullptr) {
      c.no_memory = true;
    } else {
      e->section = c.section;
    }
    return e;
  }
  // The lock failed because of `owner`; nullptr: a thread that has unlocked since.
  static Result fail(C& c, C* owner) noexcept {
    if (owner != nullptr && owner != &c) {
      c.tallies.sync_requests.add(1);
      owner->wanted.store(1, relaxed);  // relaxed: a hint
    }
    c.conflict = owner;
    return Result::busy;
  }
  static void* fail_to_lock(C& c, C* owner) noexcept {
    fail(c, owner);
    return nullptr;
  }

  template <Kind kKind>
  static void* lock(void* given) noexcept {
    if (!is_inside()) return nullptr;
    C& c = *local<P>().context;
    c.tallies.locks.add(1);
    void* const object = actual(given);
    // First, because another thread may just be writing back what this thread holds.
    if (!begin_to_write(c)) return fail_to_lock(c, &c);
    auto& h = header_of<P>(object);
    std::uint64_t held = h.lock.load(acquire);  // see above
    const bool mine = held != kUnlocked && &Log::owner_of(held) == &c;
    if (held != kUnlocked && !mine) return fail_to_lock(c, &Log::owner_of(held));
    // An object that this thread has locked already, in this section or in a deferred one.
    void* const seen = mine && !is_record(held) ? copy_at(held) : object;
    if (mine) {
      const bool of_this_section = Log::entry_of(held)->section == c.section;
      if (kKind == Kind::record || (of_this_section && !is_record(held))) return seen;
    }
    const std::size_t size = h.size;
    Entry* const e = append(c, kKind, object, size);
    if (e == nullptr) return nullptr;
    e->previous = held;
    // release, both: the head of the chunk; pairs with the loads of the word. acquire: another
    // thread may have locked and unlocked it meanwhile, in an aborted section.
    if (mine) {
      h.lock.store(Log::lock_word(e), release);
    } else {
      while (!h.lock.compare_exchange(held, Log::lock_word(e), acq_rel)) {
        held = h.lock.load(acquire);  // see above; the update that failed was a relaxed load
        if (held == kUnlocked) continue;
        c.log().drop();
        return fail_to_lock(c, &Log::owner_of(held));
      }
    }
    if (kKind == Kind::record) return object;
    P::copy(Log::copy_of(e), seen, size);
    return Log::copy_of(e);
  }
};

}  // namespace lockswap::rlu
