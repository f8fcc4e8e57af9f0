// Which acquisitions of a thread are looked at, and what is counted of them.
//
// A pair of lock and unlock may cost four instructions, which is less than a lookup of the lock. So
// the thread counts down, and looks at the acquisition at zero: that one stands for all since the
// one before, so that their sum is exact. The next distance is drawn at random, with a mean that
// makes looks some 20 us apart. A thread that acquires less often than that has each of its
// acquisitions looked at.
//
// Waits are not left to chance, since one can be longer than all others together. Our mutexes
// report their slow stages, and with glibc's own a look at the lock's first word, two instructions
// more, finds what has to wait. Where neither says anything, as for our reader-writer locks, a wait
// that is looked at stands for as many as the acquisition does.
#pragma once

#include <cstdint>

#include "metrics/record.h"
#include "metrics/series.h"
#include "platform/looks.h"
#include "platform/thread.h"

namespace lockswap::metrics {

// Acquisitions of this thread until the next look.
struct Countdown {
  std::int32_t left;
};
inline bool is_due() noexcept { return --per_thread<Countdown>.left < 0; }

// A hold that is timed: one at a time in each thread.
struct Held {
  const void* lock;  // nullptr: none
  std::uint64_t since;
  std::uint32_t series, weight;
  Mode mode;
};

// What a call on a lock asks for. It goes by value, as all here does: a local variable whose
// address is known elsewhere would keep compilers from jumping to what comes next.
struct Asked {
  Kind kind;
  Mode mode;
  bool may_fail;
  bool sees_waits;  // by the lock's words
};

// An acquisition that is looked at.
struct Sample {
  std::uint32_t series;
  std::uint32_t weight;   // 0: it is not to be counted, or it already is
  std::uint32_t process;  // the World's number
};

// Before the call. The first one on a lock is counted here: what stands behind may decide by its
// caller what runs the lock, so that call has to be a jump.
Sample begin_sample(const void* lock, Asked asked, const void* caller) noexcept;
// After it.
struct Outcome {
  Look found;  // before the call
  std::uint64_t begin;
  int error;
};
void end_sample(const void* lock, Asked asked, Sample sample, Outcome outcome) noexcept;

// The same for a call that has to wait, and is counted with another one.
Sample begin_wait(const void* lock, Asked asked, const void* caller) noexcept;
void end_wait(Asked asked, Sample sample, Outcome outcome) noexcept;

// A slow stage of one of our mutexes is over.
struct Stage {
  const void* lock;
  Kind kind;
  Mode mode;
  std::uint64_t begin, end;
  const void* caller;
};
void count_stage(const Stage& stage) noexcept;

// A lock begins.
void begin_lock(const void* lock, Kind kind, const void* caller) noexcept;
void end_lock(const void* lock) noexcept;

// The hold of it that is timed ends, or gets lost: the thread waits on a condition variable.
void end_hold() noexcept;
void drop_hold() noexcept;

// Whether holds are timed. At start-up.
void prepare_counters(bool counts_holds) noexcept;
// In a forked child.
void forget_thread() noexcept;

}  // namespace lockswap::metrics
