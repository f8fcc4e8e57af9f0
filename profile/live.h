// What each thread holds and waits for at this moment, in the file. `lockswap why` reads it while
// the process hangs, without its help, or after it was killed.
//
// Only the thread itself writes, and the reader stops nobody. A waiting thread changes nothing. So
// what is the same in two reads, with the same start of the wait, was true during the time between.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <sys/prctl.h>

#include "platform/atomic.h"
#include "platform/syscall.h"

namespace lockswap::profile {

inline constexpr std::uint32_t kMostHolds = 64;
inline constexpr std::uint32_t kMostWaits = 3;  // signal handlers may wait inside waits
inline constexpr std::uint32_t kSignals = 16;

// relaxed, all fields here: `held` and `waiting` are stored after them with release, and a second
// read finds what changed meanwhile.
struct Hold {
  NativeAtomic<std::uint64_t> address;
  NativeAtomic<std::uint64_t> caller;  // the return address of the function that acquired it
  // The class number in the upper half, how it is held in the lower.
  NativeAtomic<std::uint64_t> what;
  NativeAtomic<std::uint64_t> object;  // the process's own Object for the lock
  NativeAtomic<std::uint64_t> since;   // ticks; if the hold is not timed, that of an older one

  // The mode, and flags: kSampled: counts in the histogram. kWaited: the thread has waited for
  // another lock since. kSplit: Thread::split has its processor time at the beginning. kTimed:
  // `since` is known.
  static constexpr std::uint32_t kSampled = 4, kWaited = 8, kSplit = 16, kTimed = 32, kModes = 3;

  static constexpr std::uint64_t packed(std::uint32_t number, std::uint32_t how) noexcept {
    return std::uint64_t{number} << 32 | how;
  }
  std::uint32_t how() const noexcept { return static_cast<std::uint32_t>(what.load(relaxed)); }
  std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(what.load(relaxed) >> 32);
  }
  // Returns 0 if it is not timed.
  std::uint64_t begin() const noexcept { return (how() & kTimed) != 0 ? since.load(relaxed) : 0; }

  void copy(const Hold& from) noexcept {
    address.store(from.address.load(relaxed), relaxed);
    caller.store(from.caller.load(relaxed), relaxed);
    what.store(from.what.load(relaxed), relaxed);
    object.store(from.object.load(relaxed), relaxed);
    since.store(from.since.load(relaxed), relaxed);
  }
};

struct Waiting {
  NativeAtomic<std::uint64_t> address;
  NativeAtomic<std::uint64_t> mutex;  // in a wait for a condition variable; otherwise 0
  NativeAtomic<std::uint64_t> since;  // ticks
  NativeAtomic<std::uint64_t> caller;
  NativeAtomic<std::uint32_t> stack;  // 0: not unwound, so `caller` is all that is known
  NativeAtomic<std::uint32_t> number;
  NativeAtomic<std::uint32_t> mode;          // a Mode, and a flag below
  NativeAtomic<std::uint32_t> has_deadline;  // 1: the call has a deadline

  // kLeft: the thread left the call without returning. kDestroys: it destroys a condition variable,
  // and waits for the threads that wait there.
  static constexpr std::uint32_t kLeft = 4, kDestroys = 8;

  bool is_left() const noexcept { return (mode.load(relaxed) & kLeft) != 0; }
  void copy(const Waiting& from) noexcept {
    address.store(from.address.load(relaxed), relaxed);
    mutex.store(from.mutex.load(relaxed), relaxed);
    since.store(from.since.load(relaxed), relaxed);
    caller.store(from.caller.load(relaxed), relaxed);
    stack.store(from.stack.load(relaxed), relaxed);
    number.store(from.number.load(relaxed), relaxed);
    mode.store(from.mode.load(relaxed), relaxed);
    has_deadline.store(from.has_deadline.load(relaxed), relaxed);
  }
};

// The thread's last signal or broadcast of a condition variable. Another thread's may take its
// place.
struct Signalled {
  NativeAtomic<std::uint64_t> address;
  NativeAtomic<std::uint64_t> at;  // ticks
  NativeAtomic<std::uint64_t> caller;
  // Ticks: the last one that reached all waiting threads: a broadcast, or a signal to the only one.
  NativeAtomic<std::uint64_t> reached_all_at;
  NativeAtomic<std::uint32_t> tid;  // whose it was: the record may be another thread's by now
  NativeAtomic<std::uint32_t> count;
};

struct Live {
  std::uint32_t next;               // its offset; 0: this is the last one
  NativeAtomic<std::uint32_t> tid;  // 0: unused
  NativeAtomic<std::uint32_t> held;
  NativeAtomic<std::uint32_t> waiting;
  NativeAtomic<std::uint64_t> self;  // pthread_self(), which a join waits for
  // The outermost first. The first one may be the latest wait that the thread left without
  // returning.
  Waiting wait[kMostWaits];
  Signalled signalled[kSignals];
  Hold hold[kMostHolds];
  NativeAtomic<std::uint64_t> name[2];  // the kernel's name of a thread that has ended
  // 0: a thread of this process. Otherwise a thread of that ancestor process, with what it held at
  // the fork.
  NativeAtomic<std::uint32_t> process;

  void begin_wait(const void* object, const void* mutex_of_it, std::uint64_t now,
                  const void* caller, std::uint32_t stack, std::uint32_t number, std::uint32_t mode,
                  bool has_deadline) noexcept {
    mark_holds_waited();
    const std::uint32_t n = waiting.load(relaxed);
    if (n < kMostWaits) {
      Waiting& w = wait[n];
      w.address.store(reinterpret_cast<std::uint64_t>(object), relaxed);
      w.mutex.store(reinterpret_cast<std::uint64_t>(mutex_of_it), relaxed);
      w.since.store(now, relaxed);
      w.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
      w.stack.store(stack, relaxed);
      w.number.store(number, relaxed);
      w.mode.store(mode, relaxed);
      w.has_deadline.store(has_deadline ? 1 : 0, relaxed);
    }
    waiting.store(n + 1, release);  // pairs with the reader's loads
  }
  // Returns the index of the first wait that the thread is still in: 1 if it left the one before,
  // otherwise 0.
  std::uint32_t first_wait() const noexcept {
    return waiting.load(relaxed) != 0 && wait[0].is_left() ? 1 : 0;
  }
  // Ends the waits from the n-th on, which the thread left without returning.
  void leave_waits(std::uint32_t n) noexcept {
    const std::uint32_t last = std::min(waiting.load(relaxed), kMostWaits) - 1;
    if (n > first_wait()) {  // it is in another wait, in which a handler runs
      waiting.store(n, relaxed);
      return;
    }
    if (last != 0) wait[0].copy(wait[last]);
    wait[0].mode.store(wait[0].mode.load(relaxed) | Waiting::kLeft, relaxed);
    waiting.store(1, release);  // as in begin_wait
  }
  void mark_holds_waited() noexcept {
    for (std::uint32_t i = held.load(relaxed); i-- != 0;)
      hold[i].what.store(hold[i].what.load(relaxed) | Hold::kWaited, relaxed);
  }
  void end_wait() noexcept {
    const std::uint32_t n = waiting.load(relaxed);
    waiting.store(n == 0 ? 0 : n - 1, relaxed);  // relaxed: the reader reads twice
  }

  // Called by the thread itself.
  void note_name() noexcept {
    union {
      char text[16];
      std::uint64_t word[2];
    } kernel_s{};
    raw_syscall(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(kernel_s.text));
    for (int i = 0; i < 2; ++i)
      name[i].store(kernel_s.word[i], relaxed);
  }

  void note_signal(const void* object, const void* caller, std::uint64_t now,
                   bool reaches_all) noexcept {
    const auto address = reinterpret_cast<std::uint64_t>(object);
    Signalled& s = signalled[(address >> 4) * 0x9e3779b97f4a7c15u >> 60];
    static_assert(kSignals == 1u << 4);
    if (s.address.load(relaxed) != address) {
      s.address.store(address, relaxed);
      s.count.store(0, relaxed);
      s.reached_all_at.store(0, relaxed);
    }
    if (reaches_all) s.reached_all_at.store(now, relaxed);
    s.at.store(now, relaxed);
    s.caller.store(reinterpret_cast<std::uint64_t>(caller), relaxed);
    s.tid.store(tid.load(relaxed), relaxed);
    s.count.store(s.count.load(relaxed) + 1, relaxed);
  }
};
// In version 7, Live ends at `name`, with zeroes until the next multiple of 64.
static_assert(sizeof(Live) <= 3392 && offsetof(Live, name) == 3368);

}  // namespace lockswap::profile
