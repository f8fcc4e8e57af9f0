// The part of the POSIX contract that reader-writer locks lack: recursive reads, release by another
// thread, EDEADLK, and fork. It wraps any lock with the members of bravo.h or unbiased.h, the "lock
// below" (the underlying lock).
//
// Why: phase-fair and task-fair locks let a reader wait behind a waiting writer. A thread that
//   holds a lock for reading, and reads it again while a writer waits, would wait for itself.
//   glibc's default lock admits that read, and programs rely on it. Programs also release read
//   locks from a thread other than the one that acquired them.
// Idea: a thread records its read holds (holds.h). The record admits a recursive read, which does
//   not touch the lock below (extra_holds.h). A release by a thread that has no record marks the
//   lock, and records of a marked lock are ignored (marked.h).
// State: the contract word (rw_word.h, with a table of its states), and the writer's thread id.
// Parts: rw_adoption.h has adoption and fork, extra_holds.h recursion, guests.h readers that other
//   readers wait for, marked.h marked locks, rw_writer.h writers. Readers and the stages are here.
//
// Stages: every level has a fast and a slow path. A fast stage makes no call and needs no stack
//   frame. It either completes, or returns what the slow stage needs to continue. A level without a
//   fast stage has the plain name (read_arrive, read_unlock, write_lock, write_unlock, lock,
//   unlock).
//
//     level and file        fast acquire      slow acquire      fast release      slow release
//     rwlock, reading
//      POSIX: rw_ops.h      rdlock (2)        slow_rdlock       unlock (2)        slow_unlock
//      contract: this file  fast_read (2)     slow_read         fast_read_unlock  slow_unlock (1)
//      bias: bravo.h or     fast_read,        slow_read,        fast_read_unlock  slow_read_unlock
//            unbiased.h     read_below        read_wait
//      slots: *_slots.h     fill              fill_elsewhere    fast_vacate       vacate
//      core: locks/rw/*.h   fast_read_arrive, slow_read_arrive, fast_read_unlock  read_unlock
//                           read_if_free      read_wait
//     rwlock, writing
//      POSIX                wrlock            slow_wrlock       unlock            write_unlock
//      contract: rw_writer.h  fast_write      write_lock (3)    fast_write_unlock write_unlock
//      bias                 fast_write        write_lock (3)    the core's        the core's
//      core                 fast_write_lock   write_lock        fast_write_unlock write_unlock
//     mutex
//      POSIX: mutex_ops.h   lock              slow_lock         unlock            slow_unlock
//      contract: mutex_contract.h  fast_lock  slow_lock         fast_unlock       slow_unlock
//      core: locks/mutex/*.h  fast_lock       slow_lock         fast_unlock       slow_unlock
//     (1) slow_read_unlock if fast_read_unlock could not finish
//     (2) a thread that holds other locks tries a stage between the two, which searches no table
//         either: nested_rdlock, nested_unlock; nested_read, nested_read_unlock
//     (3) go_on_writing if the fast stage has acquired the core
//
// Fairness: that of the lock below, unless readers have waited for longer than their patience
//   (guests.h). A marked lock prefers readers, as glibc's default does.
// Space: 8 bytes in the object, and 24 bytes a hold in the thread.
// Destroy is safe if it is safe in the lock below. On a marked lock a writer releases this word and
//   the lock below in two steps, so destroy() waits for a writer that is between them.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/claims.h"
#include "locks/common/events.h"
#include "locks/common/rw_layout.h"
#include "locks/concept.h"
#include "platform/atomic.h"
#include "platform/clock.h"
#include "platform/concept.h"
#include "posix/count_waits.h"
#include "posix/extra_holds.h"
#include "posix/generations.h"
#include "posix/guests.h"
#include "posix/holds.h"
#include "posix/marked.h"
#include "posix/patience.h"
#include "posix/polling.h"
#include "posix/rw_adoption.h"
#include "posix/rw_word.h"
#include "posix/rw_writer.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Lock, EventCounter Count>
class RwContract {
  using Word = RwWord<P>;
  template <Platform Q, WaitPolicy<Q> V, class Other, EventCounter C>
  friend class RwContract;
  using SlowCount = typename Count::Slow;
  using SlowLock = typename Lock::template CountedBy<SlowCount>;
  using Adopted = RwAdoption<P, W, SlowLock, SlowCount>;
  using Extra = ExtraHolds<P, W, typename Lock::Frame, SlowCount>;
  using Guest = Guests<P, W, typename Lock::Frame, SlowCount>;
  using MarkedLock = Marked<P, W, SlowLock, SlowCount>;
  using Writer = RwWriter<P, W, Lock, Count>;

 public:
  using Frame = typename Lock::Frame;
  using Slow = RwContract<P, W, SlowLock, SlowCount>;  // whose slow stages this one uses
  // These hold for unmarked locks. A marked one prefers readers.
  static constexpr Claims kClaims = Lock::kClaims;

  static bool prepare() noexcept { return Lock::prepare(); }

  // --- adoption: the first call on an object in each process comes here
  static bool adopted(const Frame& f) noexcept { return Adopted::is_done(f); }
  static bool adopt(Frame& f) noexcept { return Adopted::adopt(f); }  // false: it is the system's
  static bool is_systems(const Frame& f) noexcept { return Adopted::is_systems(f); }
  static bool adopt_unused(Frame& f) noexcept { return Adopted::adopt_unused(f); }
  static void begin(Frame& f) noexcept { Adopted::begin(f); }
  static void set_numbers(NumberShare share) noexcept { Adopted::numbers() = share; }

  // --- reading; 0 or an errno

  // What a fast stage leaves to the slow one: nothing (0), because the thread holds the lock;
  // everything (kNotBegun); or an attempt of the lock below, with kArrived if the reader has
  // arrived there.
  using Rest = std::uint64_t;
  static constexpr Rest kNotBegun = ~Rest{0};
  static constexpr Rest kArrived = Rest{1} << 32;

  // For an adopted lock without flags, and a thread that holds no lock. Pass the result to
  // slow_read.
  [[gnu::always_inline]] static Rest fast_read(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    // acquire: pairs with the release in Adoption::adopt. If another thread's mark matters to this
    // thread, the program has ordered it before this call.
    const std::uint64_t stamp = f.contract.load(acquire);
    if (!Word::is_plain(stamp) || !holds.none()) [[unlikely]]
      return kNotBegun;
    Attempt a = Lock::fast_read(f);
    if (!Lock::is_in(a)) [[unlikely]] {
      const Below below = Lock::read_below(f, a);
      if (below != Below::in) return rest_of(below, a);
      holds.template set_first<Lock::kHasTokens>(f.key(), stamp, 0);
      signal_fence();  // or the compiler merges these stores with those below: two moves more
      return 0;
    }
    holds.template set_first<Lock::kHasTokens>(f.key(), stamp, Lock::token_of(a));
    return 0;
  }
  // fast_read for a thread that holds other locks, all recorded in the thread itself, but not this
  // one: programs read through several levels of locks. Called after fast_read returned kNotBegun.
  [[gnu::always_inline]] static Rest nested_read(Frame& f) noexcept {
    if constexpr (!Lock::kHasFast) return kNotBegun;
    Holds<P>& holds = P::template local<Holds<P>>();
    const std::uint64_t stamp = f.contract.load(acquire);  // as in fast_read
    HoldRecord* place = holds.place_for(f.key());
    if (!Word::is_plain(stamp) || place == nullptr || Word::generations().any_disputed())
      return kNotBegun;
    Attempt a = Lock::fast_read(f);
    const bool is_in = Lock::is_in(a);
    if (!is_in) {
      const Below below = Lock::read_below(f, a);
      if (below != Below::in) return rest_of(below, a);
    }
    holds.template set<Lock::kHasTokens>(*place, f.key(), stamp, is_in ? Lock::token_of(a) : 0);
    return 0;
  }
  static int slow_read(Frame& f, Rest rest, const Deadline* deadline) noexcept {
    if (rest == kNotBegun) return read_lock(f, {.deadline = deadline});
    return slow_read(f, P::template local<Holds<P>>(), rest, deadline);
  }

  // Runs both stages. For try and timed forms, and for threads that hold locks.
  static int read_lock(Frame& f, Patience patience) noexcept {
    if (patience.deadline != nullptr && !adopted(f)) [[unlikely]]
      return poll_result<P, Count>(&f, *patience.deadline,
                                   [&f] { return read_lock(f, {.only_try = true}); });
    Holds<P>& holds = P::template local<Holds<P>>();
    const typename Holds<P>::Use use(holds);
    if (Word::generations().any_disputed() && holds.is_alone()) [[unlikely]] {
      // Records of a disputed generation are stale: their lock is marked, or was destroyed.
      holds.forget_if([&](const HoldRecord& h) {
        return h.key != f.key() && Word::generations().is_disputed(Word::generation_in(h.stamp));
      });
    }
    HoldRecord* hold = find(holds, f);
    if (hold != nullptr) {
      if (const int result = Extra::add_one(f, *hold); result != Extra::kMarked) return result;
      holds.remove(hold);  // the lock is marked
    }
    if (is_marked(f)) return MarkedLock::read_lock(f, patience);
    if (patience.only_try) return try_read(f, holds);
    const Attempt a = Lock::fast_read(f);
    if (!Lock::is_in(a)) return Slow::slow_read(f, holds, a, patience.deadline);
    remember(f, holds, Lock::token_of(a));
    return 0;
  }

  // Returns whether the thread's only hold is its first one of this lock, which fast_read_unlock
  // may end.
  static bool has_only_hold(const Frame& f, std::uint32_t& token) noexcept {
    // If so, the record is of this generation, and the lock still has no flags. relaxed: the
    // program itself orders a mark that matters to this thread before this load.
    return P::template local<Holds<P>>().template only_first<Lock::kHasTokens>(
        f.key(), f.contract.load(relaxed), token);
  }
  static int fast_read_unlock(Frame& f, std::uint32_t token) noexcept {
    P::template local<Holds<P>>().clear_first();
    if (Lock::fast_read_unlock(f, token)) [[likely]]
      return 0;
    return Slow::slow_read_unlock(f, token);
  }

  // The same for a thread that holds other locks, if this hold is its newest, as it usually is when
  // holds are nested. Returns false if it did nothing.
  [[gnu::always_inline]] static bool nested_read_unlock(Frame& f, int& result) noexcept {
    // relaxed: as in has_only_hold.
    std::uint32_t token;
    HoldRecord* hold = P::template local<Holds<P>>().template newest<Lock::kHasTokens>(
        f.key(), f.contract.load(relaxed), token);
    if (hold == nullptr) return false;
    hold->key = 0;
    result = Lock::fast_read_unlock(f, token) ? 0 : Slow::slow_read_unlock(f, token);
    return true;
  }

  // --- writing; 0 or an errno

  [[gnu::always_inline]] static Below fast_write(Frame& f) noexcept {
    return Writer::fast_write(f);
  }
  static int go_on_writing(Frame& f) noexcept { return Writer::go_on_writing(f); }
  static int write_lock(Frame& f) noexcept { return Writer::write_lock(f); }
  static int write_lock(Frame& f, Patience patience) noexcept {
    if (patience.deadline != nullptr && !adopted(f)) [[unlikely]]
      return poll_result<P, Count>(&f, *patience.deadline,
                                   [&f] { return Writer::write_lock(f, {.only_try = true}); });
    return Writer::write_lock(f, patience);
  }
  static bool is_own_write(const Frame& f) noexcept { return Writer::is_own_write(f); }
  [[gnu::always_inline]] static bool fast_write_unlock(Frame& f) noexcept {
    return Writer::fast_write_unlock(f);
  }
  static void write_unlock(Frame& f) noexcept { Writer::write_unlock(f); }

  // --- releasing: ends a read or write hold of the calling thread, or of another one

  // Called after fast_read_unlock, if the token's slot did not simply name this lock.
  [[gnu::noinline]] static int slow_read_unlock(Frame& f, std::uint32_t token) noexcept {
    return Lock::slow_read_unlock(f, token) ? 0 : MarkedLock::release_any(f);
  }
  static int slow_unlock(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    const typename Holds<P>::Use use(holds);
    const bool marked = is_marked(f);
    HoldRecord* hold = find(holds, f);
    if (hold != nullptr && !marked) {
      if (hold->again != 0) {
        --hold->again;
        return Extra::release_one(f) ? 0 : MarkedLock::release_any(f);
      }
      const std::uint32_t token = hold->token;
      const bool is_guest = (hold->stamp & Word::kGuest) != 0;
      holds.remove(hold);
      const bool done = is_guest ? Extra::release_one(f) : Lock::slow_read_unlock(f, token);
      return done ? 0 : MarkedLock::release_any(f);
    }
    if (Writer::is_write_held(f)) {
      // A core that names its writer recognises a writer's release by this id.
      if constexpr (Frame::kCoreNamesWriter) f.writer.store(P::tid(), relaxed);
      write_unlock(f);
      return 0;
    }
    if (hold != nullptr) holds.remove(hold);
    // relaxed: as where kEnded is set.
    if ((f.contract.load(relaxed) & Word::kEnded) != 0) return 0;
    Count::on(&f, Event::foreign_release);
    MarkedLock::mark(f);
    return MarkedLock::release_any(f);
  }

  // Returns whether a hold was released by a thread that had no record of it.
  static bool is_marked(const Frame& f) noexcept { return Word::is_marked(f); }

  // --- the end

  // The object may be reused afterwards. Like glibc's, it never fails. It ends the calling thread's
  // holds of the object, which would otherwise leave a record, a slot or a queue node behind. Other
  // threads may still release theirs. An object that is not adopted may never have been a lock.
  static void destroy(Frame& f) noexcept {
    if (!adopted(f)) return before_init(f);
    bool ended = false;
    // Not while others wait: they need the release, as under glibc. And garbage that happens to
    // contain this thread's id must not be mistaken for a write lock held by it.
    if (is_own_write(f) && Lock::needs_no_repair(f, true)) {
      write_unlock(f);
      ended = true;
    }
    for (; find(P::template local<Holds<P>>(), f) != nullptr; ended = true)
      slow_unlock(f);
    // relaxed: usually only this thread looks at it.
    if (ended) f.contract.fetch_or(Word::kEnded, relaxed);
    // If the generation isn't disputed, the mark bit is leftover garbage.
    if (is_marked(f) &&
        Word::generations().may_be_disputed(Word::generation_in(Word::stamp_of(f)))) {
      for (unsigned round = 0; f.core.has_writer() && f.writer.load(relaxed) == 0; ++round) {
        P::step_aside(round);
      }
    }
    if constexpr (EndingCore<Core>) f.core.destroy();
  }

  // Called by pthread_rwlock_init before the bytes are zeroed. They may be anything, including a
  // lock that was never destroyed.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }

 private:
  using Core = decltype(Frame::core);
  using Attempt = typename Lock::Attempt;
  static constexpr Rest rest_of(Below below, Attempt a) noexcept {
    return below == Below::arrived ? kArrived | a : a;
  }

  // Returns the thread's record of this lock, or nullptr. Drops a record of an earlier lock.
  static HoldRecord* find(Holds<P>& holds, const Frame& f) noexcept {
    HoldRecord* hold = holds.find(f.key());
    // A hold from before a fork is of the same generation.
    if (hold == nullptr ||
        Word::generation_in(hold->stamp) == Word::generation_in(Word::stamp_of(f))) {
      return hold;
    }
    holds.remove(hold);
    return nullptr;
  }

  // Records a read hold that the thread has acquired. A hold without a record marks the lock:
  // otherwise the thread could not read it again while a writer waits, and the release would mark
  // it anyway.
  static void remember(Frame& f, Holds<P>& holds, std::uint32_t token) noexcept {
    if (!holds.add(f.key(), Word::stamp_of(f), token)) [[unlikely]]
      MarkedLock::mark(f);
  }

  static int try_read(Frame& f, Holds<P>& holds) noexcept {
    std::uint32_t token = 0;
    if (!Lock::try_read_lock(f, token)) return busy<Count>(&f);
    remember(f, holds, token);
    return 0;
  }

  // Called if the lock below's fast stage did not get the lock and the thread has no record of it.
  [[gnu::noinline]] static int slow_read(Frame& f, Holds<P>& holds, Rest rest,
                                         const Deadline* deadline) noexcept {
    auto a = static_cast<Attempt>(rest);
    if ((rest & kArrived) != 0 || !Lock::slow_read(f, a)) {
      if (f.writer.load(relaxed) == P::tid()) {  // relaxed: only this thread stores its id
        Lock::read_withdraw(f, a);
        return EDEADLK;
      }
      const Entry entry = wait(f, a, deadline);
      count_waits<P, Count>(&f);
      if (entry == Entry::none) return timed_out<Count>(&f);
      if (entry == Entry::guest) {
        holds.add(f.key(), Word::stamp_of(f) | Word::kGuest, 0);
        return 0;
      }
    }
    remember(f, holds, Lock::token_of(a));
    count_waits<P, Count>(&f);
    return 0;
  }

  // How a waiting reader gets in: not at all, because its deadline has passed; through the lock
  // below; or as a guest.
  enum class Entry : std::uint8_t { none, below, guest };
  static Entry wait(Frame& f, Attempt& a, const Deadline* deadline) noexcept {
    if (P::reader_patience() == 0) {
      return Lock::read_wait(f, a, deadline) || !Lock::read_withdraw(f, a) ? Entry::below
                                                                           : Entry::none;
    }
    typename Guest::Stays stays;
    for (;;) {
      const std::uint64_t level = Guest::level(f);
      Deadline soon = Guest::with_patience(deadline, level);
      soon.longer = stays.longer();
      if (Lock::read_wait(f, a, &soon)) return Entry::below;
      if (deadline != nullptr && P::passed(*deadline)) {
        return Lock::read_withdraw(f, a) ? Entry::none : Entry::below;
      }
      if (!Guest::enter(f, level)) {
        stays.looked(f, soon.patience);
        continue;
      }
      if (Lock::read_withdraw(f, a)) return Entry::guest;
      // The reader holds the lock twice. If there is no extra hold left to release, a cross-thread
      // release consumed this one instead of the one it meant, which is still there.
      if (!Extra::release_one(f)) MarkedLock::release_any(f);
      return Entry::below;
    }
  }
};

}  // namespace lockswap
