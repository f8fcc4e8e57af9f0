// Writers in the POSIX contract: the writer's thread id, EDEADLK, and the writer's side of extra
// holds.
//
// Steps of an acquisition:
//   1. the writer acquires the lock below. If it must wait for readers there, it says so in the
//      contract word (guests.h)
//   2. if the contract word has flags, it waits until there are no extra holds. In the same update
//      it bars new ones (shut): it clears kDraining, and on a marked lock it sets kActive
//   3. it stores its thread id
// A release undoes these steps in reverse order.
// A core that names its writer itself (RwFrame::kCoreNamesWriter) stores the id in step 1.
#pragma once

#include <cerrno>
#include <cstdint>

#include "locks/common/events.h"
#include "platform/atomic.h"
#include "platform/concept.h"
#include "posix/count_waits.h"
#include "posix/guests.h"
#include "posix/patience.h"
#include "posix/rw_word.h"
#include "wait/concept.h"

namespace lockswap {

template <Platform P, WaitPolicy<P> W, class Lock, EventCounter Count>
class RwWriter {
  using Frame = typename Lock::Frame;
  using Word = RwWord<P>;
  using SlowCount = typename Count::Slow;
  using Drain = typename Guests<P, W, Frame, Count>::Drain;
  using Slow = RwWriter<P, W, typename Lock::template CountedBy<SlowCount>, SlowCount>;
  template <Platform Q, WaitPolicy<Q> V, class Other, EventCounter C>
  friend class RwWriter;

 public:
  // For an adopted lock without flags, and a thread whose id is noted. Need not check the writer's
  // id, because a free lock has none. Returns `in` if this thread is the writer now, and `arrived`
  // if it has only the lock below and must call go_on_writing.
  [[gnu::always_inline]] static Below fast_write(Frame& f) noexcept {
    if constexpr (!FastWriteCore<decltype(Frame::core)>) return Below::nothing;
    const std::uint32_t me = P::tid_if_noted();
    // acquire: pairs with the release in Adoption::adopt.
    if (me == 0 || !Word::is_plain(f.contract.load(acquire))) [[unlikely]]
      return Below::nothing;
    const Below below = Lock::fast_write(f);
    if (below == Below::nothing) [[unlikely]]
      return below;
    // acquire: as in finish.
    if (below != Below::in || Word::flags_in(f.contract.load(acquire)) != 0) [[unlikely]]
      return Below::arrived;
    own(f, me);
    return below;
  }
  static int go_on_writing(Frame& f) noexcept {
    Lock::go_on_writing(f, Drain{f});
    return finish(f, P::tid(), {});
  }
  static int write_lock(Frame& f) noexcept {
    const std::uint32_t me = P::tid();
    // relaxed: only this thread can have stored its own id.
    if (f.writer.load(relaxed) == me) [[unlikely]]
      return EDEADLK;
    Lock::write_lock(f, Drain{f});
    return finish(f, me, {});
  }

  static int write_lock(Frame& f, Patience patience) noexcept {
    const std::uint32_t me = P::tid();
    // relaxed: only this thread can have stored its own id.
    if (f.writer.load(relaxed) == me) return patience.only_try ? busy<Count>(&f) : EDEADLK;
    if (patience.only_try) {
      if (!Lock::try_write_lock(f)) return busy<Count>(&f);
    } else if (!Lock::write_lock_until(f, patience.deadline, Drain{f})) {
      return timed_out<Count>(&f);
    }
    return finish(f, me, patience);
  }

  // Returns whether the calling thread is the writer.
  static bool is_own_write(const Frame& f) noexcept {
    // A thread that writes has looked up its id. relaxed: only this thread can have stored it.
    const std::uint32_t writer = f.writer.load(relaxed);
    return writer != 0 && writer == P::tid_if_known();
  }
  // For the writer of an adopted lock without flags. Call write_unlock if it returns false.
  [[gnu::always_inline]] static bool fast_write_unlock(Frame& f) noexcept {
    if constexpr (FastWriteCore<decltype(Frame::core)>) {
      // relaxed: a writer has the lock, so this process has adopted it, or the program has a bug;
      // and kActive is this writer's own.
      if (!Word::is_plain(f.contract.load(relaxed))) [[unlikely]]
        return false;
      // relaxed: as in write_unlock.
      if constexpr (!Frame::kCoreNamesWriter) f.writer.store(0, relaxed);
      return f.core.fast_write_unlock();
    }
    return false;
  }
  static void write_unlock(Frame& f) noexcept {
    // relaxed: threads only look for their own ids.
    if constexpr (!Frame::kCoreNamesWriter) f.writer.store(0, relaxed);
    if ((f.contract.load(relaxed) & Word::kActive) != 0) [[unlikely]]
      open(f);
    f.core.write_unlock();
    count_waits<P, Count>(&f);
  }

  // Returns whether a thread without a record releases a write hold. A core that names its writer
  // stores the id while fast readers and extra holds may still be there. That writer does not have
  // the lock before the slots are empty, n is 0 and kDraining is clear. relaxed: a thread that
  // releases one of those read holds has seen the update that made it, which is not undone before
  // this release.
  static bool is_write_held(Frame& f) noexcept {
    return is_write_held(f, f.contract.load(relaxed));
  }
  static bool is_write_held(Frame& f, std::uint64_t v) noexcept {
    if (f.writer.load(relaxed) == 0) return false;
    if constexpr (!Frame::kCoreNamesWriter) return true;
    v = Word::flags_in(v);
    return !Lock::may_have_fast_readers(f) && (v & ~Word::kSleepers) == (v & kStates) &&
           (v & kStates) != Word::kMarked;
  }

 private:
  static constexpr std::uint64_t kStates = Word::kMarked | Word::kActive;

  // The writer has the lock below.
  static int finish(Frame& f, std::uint32_t me, Patience patience) noexcept {
    // It can't miss a flag. Marks, and extra holds of threads that also have a hold below, were
    // made before the holds below were released to this writer. A guest got in before the writer
    // that it passed got in or gave its turn back. acquire: if all guests of such a writer have
    // left, this writer sees their critical sections; pairs with ExtraHolds::release_one.
    if (Word::flags_in(f.contract.load(acquire)) != 0) [[unlikely]] {
      if (const int error = Slow::shut(f, patience); error != 0) {
        Drain{f}.gave_up();
        f.core.write_unlock();
        return error;
      }
    }
    own(f, me);
    count_waits<P, Count>(&f);
    return 0;
  }
  static void own(Frame& f, std::uint32_t me) noexcept {
    if constexpr (!Frame::kCoreNamesWriter) f.writer.store(me, relaxed);
    P::check([&f] { return owns_core(f) && is_shut(f.contract.load(relaxed)); });
    Count::on(&f, Event::write);
  }

  // For P::check: the writer has the lock below. The system's lock can't tell.
  static bool owns_core(const Frame& f) noexcept {
    return Frame::kCoreNamesWriter || f.core.has_writer();
  }
  // For P::check: no reader has an extra hold, and this word admits none.
  static bool is_shut(std::uint64_t v) noexcept {
    const bool active = (v & Word::kActive) != 0 || (v & Word::kMarked) == 0;
    return Word::extra_in(v) == 0 && (v & Word::kDraining) == 0 && active && Word::is_sound(v);
  }

  // Waits for extra holds, and bars new ones except recursive ones, whose threads have the lock.
  [[gnu::noinline]] static int shut(Frame& f, Patience patience) noexcept {
    for (;;) {
      std::uint64_t v = f.contract.load(relaxed);  // relaxed: the compare-exchange acquires
      if (Word::extra_in(v) == 0) {
        const std::uint64_t active = (v & Word::kMarked) != 0 ? Word::kActive : 0;
        const std::uint64_t next = (v & ~Word::kOfDrain) | active;
        // acquire: pairs with ExtraHolds::release_one. Fails if a reader was faster.
        if (f.contract.compare_exchange(v, next, acquire)) return 0;
        continue;
      }
      if (patience.only_try) return busy<Count>(&f);
      // From now on new readers wait for this writer in the lock below.
      Drain{f}.begin();
      const auto none = [](std::uint64_t now) { return Word::extra_in(now) == 0; };
      // relaxed: the next round acquires.
      if (!W::until(f.contract, relaxed, Word::kSleepers, Word::kChannel, patience.deadline,
                    none)) {
        return timed_out<Count>(&f);
      }
    }
  }

  static void open(Frame& f) noexcept {
    // release: the critical section; pairs with Marked::read_lock.
    const std::uint64_t v = f.contract.fetch_and(~(Word::kActive | Word::kSleepers), release);
    if constexpr (W::kParks) {
      if ((v & Word::kSleepers) != 0) W::wake(&f.contract, Word::kChannel);
    }
  }
};

}  // namespace lockswap
