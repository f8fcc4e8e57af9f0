// Samples the acquisitions of a thread, and counts them.
//
// A pair of lock and unlock may cost only four more instructions, which is less than a lookup of
// the lock. So the thread counts down, and samples the acquisition at zero. That one stands for all
// since the previous sample, so the sum is exact. The next distance is drawn at random, with a mean
// that makes samples some 20 us apart. If a thread acquires less often than that, all its
// acquisitions are sampled.
//
// Waits are not left to chance, since one can be longer than all others together. Our mutexes
// report their slow stages. For glibc's own, a check of the lock's first word, two more
// instructions, finds acquisitions that must wait. If neither is possible, as for our reader-writer
// locks, a sampled wait stands for as many waits as its acquisition does.
#pragma once

#include <cstdint>

#include "metrics/record.h"
#include "metrics/series.h"
#include "platform/looks.h"
#include "platform/thread.h"

namespace lockswap::metrics {

// Acquisitions of this thread until the next sample.
struct Countdown {
  std::int32_t left;
};
inline bool is_due() noexcept { return --per_thread<Countdown>.left < 0; }

// A hold that is being timed. Each thread times one at a time.
struct Held {
  const void* lock;  // nullptr: none
  std::uint64_t since;
  std::uint32_t series, weight;
  Mode mode;
};

// What a call on a lock asks for. All of these are passed by value: a local variable whose address
// is known elsewhere would keep compilers from jumping to the next function.
struct Asked {
  Kind kind;
  Mode mode;
  bool may_fail;
  bool sees_waits;  // by the lock's words
};

// A sampled acquisition.
struct Sample {
  std::uint32_t series;
  std::uint32_t weight;   // 0: don't count it, or it is counted already
  std::uint32_t process;  // World::number
};

// Called before the acquisition. Counts a lock's first acquisition here, because the function
// behind may decide by its caller what runs the lock, so that call must be a jump.
Sample begin_sample(const void* lock, Asked asked, const void* caller) noexcept;
// Called after it.
struct Outcome {
  Look found;  // before the call
  std::uint64_t begin;
  int error;
};
void end_sample(const void* lock, Asked asked, Sample sample, Outcome outcome) noexcept;

// The same for a call that must wait, and is counted with another one.
Sample begin_wait(const void* lock, Asked asked, const void* caller) noexcept;
void end_wait(Asked asked, Sample sample, Outcome outcome) noexcept;

// Called when a slow stage of one of our mutexes is over.
struct Stage {
  const void* lock;
  Kind kind;
  Mode mode;
  std::uint64_t begin, end;
  const void* caller;
};
void count_stage(const Stage& stage) noexcept;

// Called when a lock begins.
void begin_lock(const void* lock, Kind kind, const void* caller) noexcept;
void end_lock(const void* lock) noexcept;

// Called when the timed hold ends, or must be given up because the thread waits on a condition
// variable.
void end_hold() noexcept;
void drop_hold() noexcept;

// Called at start-up. with_holds: whether holds are timed.
void prepare_counters(bool with_holds) noexcept;
// Called in a forked child.
void forget_thread() noexcept;

}  // namespace lockswap::metrics
