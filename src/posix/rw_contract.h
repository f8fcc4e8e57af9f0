// The part of the POSIX contract that scalable locks lack: recursive reads, and release by another
// thread. It goes over any lock of the shape of unbiased.h or bravo.h.
//
// Why: phase-fair and task-fair locks let a reader wait behind a waiting writer. A thread that
//   reads a lock, and reads it again while a writer waits, would wait for itself. glibc's default
//   admits it, and programs rely on that. Programs also release a read hold by another thread.
// Idea: a thread records its read holds (holds.h). A recursive read is admitted by that record; it
//   does not touch the counters of the lock below, only a count of "extra" holds here. A release by
//   a thread without a record marks the lock. On a marked lock nobody trusts a record: readers are
//   admitted whenever no writer is active, as extra holds if a writer is waiting.
// Fork: in a child every hold stays, and nobody waits: the threads that did do not exist. Locks are
//   listed nowhere, so each is cleared up by the first call on it, which finds the parent's stamp.
// Generations: a record is of one life of a lock (generations.h), and says nothing about the next
// one.
// State: the frame's contract word. Bits 40 to 63: the life. Bits 31 to 39: the stamp of the
//   process that adopted the lock (P::process). Below:
//   extra     read holds that are not in the lock below
//   kMarked   records about this lock mean nothing, from now until it is initialised again
//   kActive   (marked locks only) a writer is in; no extra hold may be added
//   kSleepers   (marked locks only) somebody sleeps on this word
// Invariants: the read holds of a lock are those below plus the extra ones. Unmarked, every extra
//   hold belongs to a thread that also has a hold below. A writer is in only after the lock below
//   is its own and extra is 0; on a marked lock it then shuts the word by kActive.
// Release on a marked lock takes any hold, since holds are alike: first a slot of BRAVO's table (no
//   new ones come), then an extra hold, last one below. That order means that a release which finds
//   neither of the first two has its own hold below.
// Exclusion across threads: the mark and the extra holds are in one word, so a recursive read comes
//   either before the mark and is counted, or after it and does not trust its record.
// Fairness: unmarked, that of the lock below. Marked: readers first, as glibc's default.
// Space: 8 bytes in the frame; 16 bytes a hold in the thread.
// Destroy is safe as it is in the lock below. On a marked lock a writer shuts and opens this word
//   and the lock below in two steps; destroy() waits out a writer between them.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/common/rw_layout.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/generations.h"
#include "posix/holds.h"
#include "wait/concept.h"

namespace lockswap {

// How long an acquisition may take.
struct Patience {
  bool only_try = false;
  const Deadline* deadline = nullptr;
};

template <Platform P, WaitPolicy<P> W, class Lock, EventCounter Count>
class RwContract {
 public:
  using Frame = typename Lock::Frame;
  // Of unmarked locks. A marked one lets readers first.
  static constexpr Claims kClaims = Lock::kClaims;

  static bool prepare() noexcept { return Lock::prepare(); }

  // --- adoption: every call on an object that this process has not adopted comes here first

  static bool adopted(const Frame& f) noexcept {
    // acquire: pairs with the release in repair_after_fork.
    return P::is_process(stamp_in(f.contract.load(acquire)));
  }

  // A new lock, in zeroed memory, begins here; one that was last used before a fork is cleared up.
  // Several threads may find it at once.
  static void adopt(Frame& f) noexcept {
    const std::uint64_t mine = P::process();
    const std::uint64_t at_it = mine & ~P::kStampTop;
    for (;;) {
      std::uint64_t v = f.contract.load(acquire);  // as in adopted
      if (stamp_in(v) == mine) return;
      if (stamp_in(v) == at_it) {
        // relaxed: the next round acquires.
        P::await(Pause::nap, f.contract, relaxed,
                 [at_it](std::uint64_t now) { return stamp_in(now) != at_it; });
        continue;
      }
      // relaxed, all: what is in the lock was handed on by the fork, or it is new. Until this
      // thread has changed the word another may be faster, and use the lock while needs_no_repair
      // looks at
      // it.
      if (generation_in(v) == 0) {
        if (f.contract.compare_exchange(v, new_generation(f), relaxed)) return;
      } else if (needs_no_repair(f, v)) {
        if (f.contract.compare_exchange(v, with_stamp(v, mine), relaxed)) return;
      } else if (P::is_shared(&f)) {
        return;  // who waits may be a thread of another process
      } else {
        // A handler that met this lock meanwhile would wait for the thread that it interrupted.
        const typename P::NoSignals blocked;
        if (f.contract.compare_exchange(v, with_stamp(v, at_it), relaxed)) {
          repair_after_fork(f, v);
          return;
        }
      }
    }
  }

  // Under pthread_rwlock_init, on zeroed bytes: nobody else may use the object.
  static void begin(Frame& f) noexcept {
    f.contract.store(new_generation(f), relaxed);  // relaxed: the program hands the object on
  }

  // --- acquisition; 0 or an errno

  // The hot path: the lock is adopted and unmarked, the thread holds no lock. 0, or go on with the
  // number returned in read_rest (kNotBegun: nothing was done yet).
  [[gnu::always_inline]] static std::uint32_t read_fast(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    // acquire: as in adopted. A mark that matters to this thread happened before, by the program's
    // own doing.
    const std::uint64_t stamp = f.contract.load(acquire);
    if (!fresh(stamp) || !holds.none()) [[unlikely]]
      return kNotBegun;
    const Attempt a = Lock::read_begin(f);
    if (!Lock::is_in(a)) [[unlikely]]
      return a;
    holds.template set_first<Lock::kHasTokens>(f.key(), stamp, Lock::token_of(a));
    return 0;
  }
  // Goes on after read_fast: the attempt that it began did not get the lock at once.
  static int read_rest(Frame& f, std::uint32_t attempt, const Deadline* deadline) noexcept {
    if (attempt == kNotBegun) return read_lock(f, {.deadline = deadline});
    return read_on(f, P::template local<Holds<P>>(), attempt, deadline);
  }

  static int read_lock(Frame& f, Patience patience) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    const typename Holds<P>::Use use(holds);
    if (lives().any_disputed()) [[unlikely]] {
      // Records of disputed lives are of marked locks, or of locks that are no more.
      holds.forget_if([&](const Hold& h) {
        return h.key != f.key() && lives().is_disputed(generation_in(h.stamp));
      });
    }
    Hold* hold = find(holds, f);
    if (hold != nullptr) {
      if (const int result = read_again(f, *hold); result >= 0) return result;
      holds.remove(hold);  // the lock is marked
    }
    if (is_marked(f)) return read_marked(f, patience);
    if (patience.only_try) return try_read(f, holds);
    const Attempt a = Lock::read_begin(f);
    if (!Lock::is_in(a)) return read_on(f, holds, a, patience.deadline);
    holds.add(f.key(), stamp_of(f), Lock::token_of(a));
    return 0;
  }

  static int write_lock(Frame& f) noexcept {
    const std::uint32_t me = P::tid();
    // relaxed: only this thread can have stored its own id.
    if (f.writer.load(relaxed) == me) [[unlikely]]
      return EDEADLK;
    Lock::write_lock(f);
    return finish_write(f, me, {});
  }

  static int write_lock(Frame& f, Patience patience) noexcept {
    const std::uint32_t me = P::tid();
    if (f.writer.load(relaxed) == me) return patience.only_try ? busy(f) : EDEADLK;  // as above
    if (patience.only_try) {
      if (!Lock::try_write_lock(f)) return busy(f);
    } else if (!Lock::write_lock_until(f, patience.deadline)) {
      Count::on(&f, Event::timeout);
      return ETIMEDOUT;
    }
    return finish_write(f, me, patience);
  }

  // The hot path of a writer's release.
  static bool is_own_write(const Frame& f) noexcept {
    // A thread that writes has asked for its id. relaxed: as in write_lock.
    const std::uint32_t writer = f.writer.load(relaxed);
    return writer != 0 && writer == P::tid_if_known();
  }
  static void write_unlock(Frame& f) noexcept {
    // relaxed: nobody but the writer itself looks for a certain id.
    if constexpr (!Frame::kCoreNamesWriter) f.writer.store(0, relaxed);
    if ((f.contract.load(relaxed) & kActive) != 0) [[unlikely]]
      open(f);
    f.core.write_unlock();
  }

  // The hot path of a reader's release: the only hold of this thread is one of this lock, and a
  // first one.
  static bool is_plain_read_release(const Frame& f) noexcept {
    // The record is of this life, and the lock unmarked and without extra holds as it was then.
    return P::template local<Holds<P>>().only_first(f.key(), f.contract.load(relaxed));
  }
  static int plain_read_release(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    const std::uint32_t token = Lock::kHasTokens ? holds.first().token : 0;
    holds.clear_first();
    if (Lock::read_unlock_fast(f, token)) [[likely]]
      return 0;
    return release_slot(f, token);
  }

  // Ends a hold of whichever kind the calling thread, or another, has.
  static int unlock(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    const typename Holds<P>::Use use(holds);
    const bool marked = is_marked(f);
    Hold* hold = find(holds, f);
    if (hold != nullptr && !marked) {
      if (hold->again != 0) {
        --hold->again;
        return release_extra(f) ? 0 : release_any(f);
      }
      const std::uint32_t token = hold->token;
      holds.remove(hold);
      return Lock::read_unlock(f, token) ? 0 : release_any(f);
    }
    if (writer_is_in(f)) {
      // Such a core tells a writer's release from a reader's by this id.
      if constexpr (Frame::kCoreNamesWriter) f.writer.store(P::tid(), relaxed);
      write_unlock(f);
      return 0;
    }
    if (hold != nullptr) holds.remove(hold);
    Count::on(&f, Event::foreign_release);
    mark(f);
    return release_any(f);
  }

  // Whether a hold was released by a thread that had no record of it. relaxed: a mark that matters
  // to a thread happened before, by the program's own doing.
  static bool is_marked(const Frame& f) noexcept {
    return (f.contract.load(relaxed) & kMarked) != 0;
  }

  // The object may be reused after this. Like glibc's, it never fails. What the calling thread
  // holds of it ends: else a record, a slot or a queue node would stay behind.
  static void destroy(Frame& f) noexcept {
    if (is_own_write(f)) write_unlock(f);
    while (find(P::template local<Holds<P>>(), f) != nullptr)
      unlock(f);
    if (is_marked(f)) {
      for (unsigned round = 0; f.core.has_writer() && f.writer.load(relaxed) == 0; ++round) {
        P::step_aside(round);
      }
    }
    if constexpr (EndingCore<Core>) f.core.destroy();
  }

  // Under pthread_rwlock_init, before the bytes are zeroed: they may be those of a lock that was
  // here and was not destroyed, or anything.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }

 private:
  using Attempt = typename Lock::Attempt;
  using Core = decltype(Frame::core);
  using Reads = ReadTokens<Core>;
  static constexpr std::uint32_t kNotBegun = ~0u;

  static constexpr std::uint64_t kMarked = 1;
  static constexpr std::uint64_t kActive = 2;
  static constexpr std::uint64_t kSleepers = 4;
  static constexpr std::uint64_t kExtra = 8;  // one extra hold
  static constexpr std::uint64_t kFlags = 0x7fffffff;
  static_assert((kFlags & P::kStampMask) == 0);
  static constexpr int kGenerationShift = 40;
  static constexpr std::uint64_t kMostExtra = kFlags - kExtra;
  static constexpr std::uint32_t kChannel = 1;

  static constexpr std::uint32_t kMostGenerations = (1u << (64 - kGenerationShift)) - 1;
  static auto& lives() noexcept { return P::template global<Generations<P, kMostGenerations>>(); }
  // 0: of no lock.
  static std::uint32_t generation_in(std::uint64_t v) noexcept {
    return static_cast<std::uint32_t>(v >> kGenerationShift);
  }

  // The contract word of a new lock.
  static std::uint64_t new_generation(const Frame& f) noexcept {
    // A hold of what was here before is no hold of this lock.
    Holds<P>& holds = P::template local<Holds<P>>();
    if (Hold* hold = holds.find(f.key()); hold != nullptr) holds.remove(hold);
    const Generation life = lives().begin();
    return std::uint64_t{life.number} << kGenerationShift | P::process() |
           (life.trusted ? 0 : kMarked);
  }

  // Adopted by this process, without marks, extra holds or sleepers.
  static bool fresh(std::uint64_t v) noexcept { return P::is_process(v); }
  // The stamp of the process that adopted it; without its highest bit, of the one that is at it.
  static std::uint64_t stamp_in(std::uint64_t v) noexcept { return v & P::kStampMask; }
  static std::uint64_t with_stamp(std::uint64_t v, std::uint64_t stamp) noexcept {
    return (v & ~P::kStampMask) | stamp;
  }
  // What the contract word is, in this life and process, whenever it is fresh: the stamp of a
  // record.
  static std::uint64_t stamp_of(const Frame& f) noexcept {
    return f.contract.load(relaxed) & ~kFlags;  // relaxed: life and process do not change
  }
  // The thread's record of this lock, if it has one. Drops one of a lock that is no more.
  static Hold* find(Holds<P>& holds, const Frame& f) noexcept {
    Hold* hold = holds.find(f.key());
    // A hold from before a fork is of the same life.
    if (hold == nullptr || generation_in(hold->stamp) == generation_in(stamp_of(f))) return hold;
    holds.remove(hold);
    return nullptr;
  }

  static std::uint64_t flags_of(std::uint64_t v) noexcept { return v & kFlags; }
  static std::uint64_t extra_of(std::uint64_t v) noexcept { return flags_of(v) / kExtra; }

  static int busy(Frame& f) noexcept {
    Count::on(&f, Event::failed_try);
    return EBUSY;
  }

  // --- after a fork. Only the thread that forked exists here; what the others left in the lock is
  // as if they stood still for ever. Holds stay. `v` is the contract word.

  // Whether there is nothing else than holds. Does not change anything.
  static bool needs_no_repair(Frame& f, std::uint64_t v) noexcept {
    const bool written = writer_is_in(f, v);
    const std::uint64_t active = written && (v & kMarked) != 0 ? kActive : 0;
    return (v & (kActive | kSleepers)) == active && Lock::needs_no_repair(f, written) &&
           (!written || owner_after_fork(f, v) == f.writer.load(relaxed));
  }
  // This thread is at it: no other acquires or, but for plain_read_release, releases.
  [[gnu::noinline]] static void repair_after_fork(Frame& f, std::uint64_t v) noexcept {
    // A writer's hold is one from when it says so to its release; who is between that and the lock
    // below was still to get it, or is done.
    const bool written = writer_is_in(f, v);
    if (written)
      f.writer.store(owner_after_fork(f, v), relaxed);  // relaxed: only a thread's own id matters
    Lock::repair_after_fork(f, written);
    v = with_stamp(v, P::process()) & ~(kActive | kSleepers);
    if (written && (v & kMarked) != 0) v |= kActive;
    // release: pairs with the acquires in adopted and adopt.
    f.contract.store(v, release);
  }
  static std::uint32_t owner_after_fork(const Frame& f, std::uint64_t v) noexcept {
    return P::survivor(f.writer.load(relaxed), stamp_in(v));
  }

  // Whether what a thread without a record releases is a write hold. A core that names its writer
  // does so when fast readers and extra holds may still be in. relaxed: a thread that releases one
  // of those has seen the change that made it, and it is not undone before this release.
  static bool writer_is_in(Frame& f) noexcept { return writer_is_in(f, f.contract.load(relaxed)); }
  static bool writer_is_in(Frame& f, std::uint64_t v) noexcept {
    if (f.writer.load(relaxed) == 0) return false;
    if constexpr (!Frame::kCoreNamesWriter) return true;
    v = flags_of(v);
    return !Lock::may_have_fast_readers(f) && (v & ~kSleepers) == (v & (kMarked | kActive)) &&
           (v & (kMarked | kActive)) != kMarked;
  }

  // --- reading

  static int try_read(Frame& f, Holds<P>& holds) noexcept {
    std::uint32_t token = 0;
    if (!Lock::try_read_lock(f, token)) return busy(f);
    holds.add(f.key(), stamp_of(f), token);
    return 0;
  }

  // The attempt did not get the lock at once, and the thread has no record of it.
  [[gnu::noinline]] static int read_on(Frame& f, Holds<P>& holds, Attempt a,
                                       const Deadline* deadline) noexcept {
    if (!Lock::read_continue(f, a)) {
      if (f.writer.load(relaxed) == P::tid()) {  // relaxed: only this thread stores its id
        Lock::read_withdraw(f, a);
        return EDEADLK;
      }
      if (!Lock::read_wait(f, a, deadline)) {
        Count::on(&f, Event::timeout);
        return ETIMEDOUT;
      }
    }
    holds.add(f.key(), stamp_of(f), Lock::token_of(a));
    return 0;
  }

  // A recursive read. -1: the lock is marked, the record is not to be trusted.
  static int read_again(Frame& f, Hold& hold) noexcept {
    std::uint64_t v = f.contract.load(relaxed);
    do {
      if ((v & kMarked) != 0) return -1;
      if (flags_of(v) >= kMostExtra) return EAGAIN;
      // relaxed: this thread holds the lock already, so it has acquired what there is; and who
      // releases this hold, or marks the lock, changes the same word after it.
    } while (!f.contract.compare_exchange(v, v + kExtra, relaxed));
    ++hold.again;
    Count::on(&f, Event::read);
    Count::on(&f, Event::recursive_read);
    return 0;
  }

  // Readers first: a reader is admitted whenever no writer is active.
  static int read_marked(Frame& f, Patience patience) noexcept {
    std::uint32_t token;  // who releases will not trust it
    for (;;) {
      if (f.core.too_many_readers()) return EAGAIN;
      if (Reads::try_lock(f.core, token)) break;
      // relaxed: only this thread can have stored its own id.
      if (f.writer.load(relaxed) == P::tid()) {
        return patience.only_try ? busy(f) : EDEADLK;
      }
      std::uint64_t v = f.contract.load(relaxed);
      if ((v & kActive) == 0) {
        if (flags_of(v) >= kMostExtra) return EAGAIN;
        // acquire: pairs with the release in open of the last writer.
        if (f.contract.compare_exchange(v, v + kExtra, acquire)) break;
        continue;
      }
      if (patience.only_try) return busy(f);
      const auto open = [](std::uint64_t now) { return (now & kActive) == 0; };
      // relaxed: the next round acquires.
      if (!W::until(f.contract, relaxed, kSleepers, kChannel, patience.deadline, open)) {
        Count::on(&f, Event::timeout);
        return ETIMEDOUT;
      }
    }
    Count::on(&f, Event::read);
    return 0;
  }

  // --- writing

  // The lock below is this writer's.
  static int finish_write(Frame& f, std::uint32_t me, Patience patience) noexcept {
    // relaxed: marks and extra holds happened before the holds below were released to this writer.
    if (flags_of(f.contract.load(relaxed)) != 0) [[unlikely]] {
      if (const int error = shut(f, patience); error != 0) {
        f.core.write_unlock();
        return error;
      }
    }
    if constexpr (!Frame::kCoreNamesWriter) f.writer.store(me, relaxed);
    Count::on(&f, Event::write);
    return 0;
  }

  // Waits for extra holds; shuts a marked lock to new ones.
  [[gnu::noinline]] static int shut(Frame& f, Patience patience) noexcept {
    for (;;) {
      // relaxed: unmarked, a thread ends its extra holds before the one below, which the lock below
      // has acquired. Marked, the compare-exchange acquires.
      std::uint64_t v = f.contract.load(relaxed);
      if (extra_of(v) == 0) {
        if ((v & kMarked) == 0) return 0;
        // acquire: pairs with release_extra. Fails if a reader was faster.
        if (f.contract.compare_exchange(v, v | kActive, acquire)) return 0;
        continue;
      }
      if (patience.only_try) return busy(f);
      const auto none = [](std::uint64_t now) { return extra_of(now) == 0; };
      // relaxed: the next round acquires.
      if (!W::until(f.contract, relaxed, kSleepers, kChannel, patience.deadline, none)) {
        Count::on(&f, Event::timeout);
        return ETIMEDOUT;
      }
    }
  }

  static void open(Frame& f) noexcept {
    // release: the critical section; pairs with read_marked.
    const std::uint64_t v = f.contract.fetch_and(~(kActive | kSleepers), release);
    if constexpr (W::kParks) {
      if ((v & kSleepers) != 0) W::wake(&f.contract, kChannel);
    }
  }

  // --- releasing

  static void mark(Frame& f) noexcept {
    if (is_marked(f)) return;
    lives().dispute(generation_in(f.contract.load(relaxed)));
    // One word: a recursive read is before the mark, and then its extra hold is counted, or after
    // it. release: who sees the mark also sees the arrival of the hold that is being released;
    // pairs with release_extra.
    f.contract.fetch_or(kMarked, release);
  }

  // The token's slot did not simply name this lock.
  [[gnu::noinline]] static int release_slot(Frame& f, std::uint32_t token) noexcept {
    return Lock::read_unlock(f, token) ? 0 : release_any(f);
  }

  // Releases one hold of a marked lock, whichever; they are alike.
  [[gnu::noinline]] static int release_any(Frame& f) noexcept {
    if (Lock::release_any_slot(f) || release_extra(f) || Reads::unlock_any(f.core)) return 0;
    return EPERM;  // nobody holds it: a bug of the program
  }

  static bool release_extra(Frame& f) noexcept {
    // acquire: pairs with the release below. If another thread took an extra hold of the caller's,
    // the caller's is that thread's hold below now, and has_readers must see it arrived.
    std::uint64_t v, next;
    for (;;) {
      v = f.contract.load(acquire);
      if (extra_of(v) == 0) return false;
      next = v - kExtra;
      if (extra_of(next) == 0) next &= ~kSleepers;
      // release: the critical section; pairs with shut.
      if (f.contract.compare_exchange(v, next, release)) break;
    }
    if constexpr (W::kParks) {
      if (((v ^ next) & kSleepers) != 0) W::wake(&f.contract, kChannel);
    }
    return true;
  }
};

}  // namespace lockswap
