// The audit's data for each thread.
#pragma once

#include <cstdint>

#include "audit/held.h"
#include "audit/record.h"
#include "platform/atomic.h"
#include "platform/call_mark.h"
#include "platform/thread.h"
#include "recording/unwind.h"

namespace lockswap::audit {

// The stacks that a thread has unwound, and the orders that it has seen.
struct Unwinding {
  static constexpr std::size_t kKnown = 128, kOrders = 1024, kCalls = 64;
  struct Call {
    std::uint64_t site;
    recording::Place place;
  };
  std::uint64_t begun, spent_ns;
  recording::KnownStacks<kKnown> known;
  std::uint64_t orders[kOrders];
  Call call[kCalls];  // calls whose place is known

  // Clears it for another thread.
  void forget() noexcept {
    begun = spent_ns = 0;
    known.forget();
    for (std::uint64_t& one : orders)
      one = 0;
    for (Call& one : call)
      one = {};
  }
};

// A mutex that a thread holds. Another thread reads this if it releases the mutex.
struct MutexOfThread {
  NativeAtomic<std::uint64_t> address;  // 0: none
  NativeAtomic<std::uint64_t> site;     // where it was taken
  NativeAtomic<std::uint64_t> since;    // in Ticks; 0: unknown, or it waits for a condition
  NativeAtomic<std::uint32_t> stack;
  NativeAtomic<bool> ended;  // its thread has ended, and that is noted
};

// The number of locks that a thread holds. It is outside the thread, because another thread may
// release its locks. Type-stable: a record is reused for other threads, but never unmapped.
struct ThreadRecord {
  NativeAtomic<std::uint64_t> serial;  // of the thread that has it; 0: free
  bool is_watched;                     // the thread will return it when it ends
  NativeAtomic<std::uint32_t> tid;
  NativeAtomic<std::uint64_t> handle;   // its pthread_t
  NativeAtomic<std::uint64_t> signals;  // bit n - 1: a thread of this process sent it signal n
  NativeAtomic<std::uint64_t> rwlocks;  // held now
  NativeAtomic<std::uint64_t> mutexes;
  MutexOfThread mutex[kMostHeld];
  Inside* inside;                          // in the file, or own_inside
  Inside own_inside;                       // used if the file had no room
  NativeAtomic<std::uint64_t> asked_mark;  // the CallMark there
  NativeAtomic<std::uint64_t> asked_site;  // of the call that it is in
  static constexpr std::size_t kAsked = 64;
  NativeAtomic<std::uint64_t> asked[kAsked];  // locks that it has asked for, by hash of the address
  Unwinding* unwinding;                       // nullptr if there is no memory
  ThreadRecord* next;                         // of all records

  // relaxed, both: a hint for another thread
  void remember_asked(std::uint64_t lock) noexcept { place_of(lock).store(lock, relaxed); }
  bool has_asked(std::uint64_t lock) noexcept { return place_of(lock).load(relaxed) == lock; }
  NativeAtomic<std::uint64_t>& place_of(std::uint64_t lock) noexcept {
    static_assert(kAsked == 1u << (64 - 58));
    return asked[lock * 0x9e3779b97f4a7c15u >> 58];
  }
};

struct SavedHolds;

// The outermost audited call that a thread is in.
struct OuterCall {
  const CallMark* mark;  // on the thread's stack
  const void* lock;
  std::uint64_t site;
};

// Zero in a new thread.
struct Me {
  ThreadRecord* record;   // nullptr if the thread is not counted, as in key destructors after ours
  SavedHolds* saved;      // what it holds, during a fork
  std::uint64_t serial;   // unique among all threads ever; 0: not assigned yet
  std::uint32_t process;  // World::number when the thread last became known
  std::uint32_t tid;      // the kernel's id
  std::uint32_t tid_before;  // its id in the parent, if this thread has forked
  std::uint32_t
      inside;  // audited calls that this thread is in: above 1 only through signal handlers
  bool busy;   // with bookkeeping; guard.h
  OuterCall outer;
  Held held;
};

inline Me& me() noexcept { return per_thread<Me>; }

}  // namespace lockswap::audit
