// The part of the POSIX contract that reader-writer locks lack: recursive reads, release by another
// thread, EDEADLK, and fork. It goes over any lock of the shape of bravo.h or unbiased.h, which is
// "the lock below" here.
//
// Why: phase-fair and task-fair locks let a reader wait behind a waiting writer. A thread that
//   reads a lock, and reads it again while a writer waits, would wait for itself. glibc's default
//   admits it, and programs rely on that. Programs also release a read hold by another thread.
// Idea: a thread records its read holds (holds.h). That record admits a recursive read, which does
//   not touch the lock below (extra_holds.h). A release by a thread without a record marks the
//   lock; on a marked lock nobody trusts a record (marked.h).
// State: the frame's contract word (rw_word.h, with a table of its states), and the writer's id.
// Parts: rw_adoption.h, adoption and fork; extra_holds.h, recursion; guests.h, readers that others
//   in the lock wait for; marked.h; rw_writer.h; here, readers, and the stages.
//
// Stages: the same two on every level. A fast stage makes no call and needs no stack frame; it
//   completes, or returns what the slow stage goes on with. A level that needs no fast stage has
//   the plain name (read_arrive, read_unlock, write_lock, write_unlock, lock, unlock).
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
//     (1) where fast_read_unlock began: slow_read_unlock
//     (2) for a thread that holds other locks there is a stage between the two, which needs no
//         search either: nested_rdlock, nested_unlock; nested_read, nested_read_unlock
//     (3) if the fast stage has the core: go_on_writing
//
// Fairness: unmarked, that of the lock below, unless readers waited for longer than their patience
//   (guests.h). Marked: readers first, as glibc's default.
// Space: 8 bytes in the frame; 24 bytes a hold in the thread.
// Destroy is safe as it is in the lock below. On a marked lock a writer opens this word and the
//   lock below in two steps; destroy() waits out a writer between them.
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
  using Slow = RwContract<P, W, SlowLock, SlowCount>;  // whose slow stages this one has
  // These hold for unmarked locks. A marked one prefers readers.
  static constexpr Claims kClaims = Lock::kClaims;

  static bool prepare() noexcept { return Lock::prepare(); }

  // --- adoption: a call on an object that this process has not adopted comes here first
  static bool adopted(const Frame& f) noexcept { return Adopted::is_done(f); }
  static bool adopt(Frame& f) noexcept { return Adopted::adopt(f); }  // false: it is the system's
  static bool is_systems(const Frame& f) noexcept { return Adopted::is_systems(f); }
  static bool adopt_unused(Frame& f) noexcept { return Adopted::adopt_unused(f); }
  static void begin(Frame& f) noexcept { Adopted::begin(f); }
  static void set_numbers(NumberShare share) noexcept { Adopted::numbers() = share; }

  // --- reading; 0 or an errno

  // What a fast stage has left to do: nothing, since the thread holds the lock; all, since nothing
  // was done yet; or what an attempt of the lock below says, which may have arrived there.
  using Rest = std::uint64_t;
  static constexpr Rest kNotBegun = ~Rest{0};
  static constexpr Rest kArrived = Rest{1} << 32;

  // For an adopted lock without flags, and a thread that holds no lock. The rest is for slow_read.
  [[gnu::always_inline]] static Rest fast_read(Frame& f) noexcept {
    Holds<P>& holds = P::template local<Holds<P>>();
    // acquire: pairs with the release in Adoption::adopt. A mark that matters to this thread
    // happened before, by the program's own doing.
    const std::uint64_t stamp = f.contract.load(acquire);
    if (!Word::is_plain(stamp) || !holds.none()) [[unlikely]]
      return kNotBegun;
    Attempt a = Lock::fast_read(f);
    if (!Lock::is_in(a)) [[unlikely]] {
      const Below below = Lock::read_below(f, a);
      if (below != Below::in) return rest_of(below, a);
      holds.template set_first<Lock::kHasTokens>(f.key(), stamp, 0);
      signal_fence();  // else the compiler makes these stores and those below one: two moves more
      return 0;
    }
    holds.template set_first<Lock::kHasTokens>(f.key(), stamp, Lock::token_of(a));
    return 0;
  }
  // fast_read for a thread that holds other locks, all recorded in the thread itself, and not this
  // one: programs read through several levels of locks. Where fast_read has not begun.
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

  // Both stages: for try and timed forms, and for threads that hold locks.
  static int read_lock(Frame& f, Patience patience) noexcept {
    if (patience.deadline != nullptr && !adopted(f)) [[unlikely]]
      return poll_result<P, Count>(&f, *patience.deadline,
                                   [&f] { return read_lock(f, {.only_try = true}); });
    Holds<P>& holds = P::template local<Holds<P>>();
    const typename Holds<P>::Use use(holds);
    if (Word::generations().any_disputed() && holds.is_alone()) [[unlikely]] {
      // Records of disputed generations are of marked locks, or of locks that have ended.
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

  // The only hold of this thread is its first one of this lock: fast_read_unlock may end it.
  static bool has_only_hold(const Frame& f, std::uint32_t& token) noexcept {
    // The record is of this generation, and the lock has no flags, as it had none then. relaxed: a
    // mark that matters to this thread happened before, by the program's own doing.
    return P::template local<Holds<P>>().template only_first<Lock::kHasTokens>(
        f.key(), f.contract.load(relaxed), token);
  }
  static int fast_read_unlock(Frame& f, std::uint32_t token) noexcept {
    P::template local<Holds<P>>().clear_first();
    if (Lock::fast_read_unlock(f, token)) [[likely]]
      return 0;
    return Slow::slow_read_unlock(f, token);
  }

  // The same for a thread that holds other locks, if this hold is its newest: nested holds end in
  // that order, mostly. Returns false if nothing was done.
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

  // --- releasing: ends a hold of whichever kind the calling thread, or another, has

  // After fast_read_unlock: the token's slot did not simply name this lock.
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
      // A core that names its writer knows a writer's release by this id.
      if constexpr (Frame::kCoreNamesWriter) f.writer.store(P::tid(), relaxed);
      write_unlock(f);
      return 0;
    }
    if (hold != nullptr) holds.remove(hold);
    // relaxed: as where it is set.
    if ((f.contract.load(relaxed) & Word::kEnded) != 0) return 0;
    Count::on(&f, Event::foreign_release);
    MarkedLock::mark(f);
    return MarkedLock::release_any(f);
  }

  // Returns whether a hold was released by a thread that had no record of it.
  static bool is_marked(const Frame& f) noexcept { return Word::is_marked(f); }

  // --- the end

  // The object may be reused after this. Like glibc's, it never fails. The calling thread's holds
  // of the object end: else a record, a slot or a queue node would stay behind. Those of others may
  // still be released. An object that is not adopted may never have been a lock.
  static void destroy(Frame& f) noexcept {
    if (!adopted(f)) return before_init(f);
    bool ended = false;
    // Not while others wait: they are the release's, as under glibc. Nor does a thread id by chance
    // in memory that was no lock make a holder.
    if (is_own_write(f) && Lock::needs_no_repair(f, true)) {
      write_unlock(f);
      ended = true;
    }
    for (; find(P::template local<Holds<P>>(), f) != nullptr; ended = true)
      slow_unlock(f);
    // relaxed: for this thread alone, as a rule.
    if (ended) f.contract.fetch_or(Word::kEnded, relaxed);
    // A mark without a dispute is no mark.
    if (is_marked(f) &&
        Word::generations().may_be_disputed(Word::generation_in(Word::stamp_of(f)))) {
      for (unsigned round = 0; f.core.has_writer() && f.writer.load(relaxed) == 0; ++round) {
        P::step_aside(round);
      }
    }
    if constexpr (EndingCore<Core>) f.core.destroy();
  }

  // Called by pthread_rwlock_init, before the bytes are zeroed: they may be those of a lock that
  // was here and was not destroyed, or anything.
  static void before_init(Frame& f) noexcept {
    if constexpr (BlockCore<Core>) f.core.before_init();
  }

 private:
  using Core = decltype(Frame::core);
  using Attempt = typename Lock::Attempt;
  static constexpr Rest rest_of(Below below, Attempt a) noexcept {
    return below == Below::arrived ? kArrived | a : a;
  }

  // The thread's record of this lock, if it has one. Drops a record of an earlier lock.
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

  // The thread has acquired a read hold. Without a record of it, only a marked lock would let the
  // thread read again while a writer waits; and the release would mark the lock anyhow.
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

  // The lock below's fast stage did not get the lock, and the thread has no record of it.
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

  // How a reader that waits comes in: not at all, since its deadline passes; by the lock below; or
  // as a guest.
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
      // It has the lock twice. If there is no extra hold any more, another thread, which released a
      // hold that was not its own, took it for that one, so another one is left.
      if (!Extra::release_one(f)) MarkedLock::release_any(f);
      return Entry::below;
    }
  }
};

}  // namespace lockswap
