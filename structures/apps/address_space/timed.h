// The machine of an address space whose locks note how long each acquisition took: the waits of
// each class of locks. It costs two looks at the clock an acquisition, so no rates come from it.
#pragma once

#include <array>
#include <cstdint>

#include "address_space/native.h"
#include "common/clock.h"

namespace bench {

enum class LockClass : std::uint8_t {
  space_read,  // the reader-writer lock that is the space's; in fault-lock, the faults'
  space_write,
  range_read,  // the range lock in its place
  range_write,
  change,      // fault-lock's mutex of operations
  index_read,  // hybrid-rcu's lock of the tree
  index_write,
  table,  // a page table's lock, or a file's
};
inline constexpr std::size_t kLockClasses = 8;

struct Waits {
  struct Sum {
    std::uint64_t count = 0, ticks = 0, most = 0;
  };
  std::array<Sum, kLockClasses> sums;

  Waits() = default;
  Waits(const Waits&) = delete;
  ~Waits();  // adds itself to waits_of_all
  void add(LockClass which, std::uint64_t ticks) {
    Sum& s = sums[static_cast<std::size_t>(which)];
    ++s.count;
    s.ticks += ticks;
    s.most = ticks > s.most ? ticks : s.most;
  }
};
// The calling thread's, which are gone when the thread ends.
Waits& waits_of_thread();
// Returns the sums over all threads that have ended, and forgets them.
std::array<Waits::Sum, kLockClasses> take_waits();
// Lines of `wait_CLASS_ns N wait_CLASS_max_ns M wait_CLASS_share S waits_CLASS C`: the mean and the
// longest acquisition, the share of the threads' time that was spent in them, and how many.
void print_waits(double seconds_of_threads);

struct TimedMachine : lockswap::address_space::NativeMachine {
  using Real = lockswap::address_space::NativeMachine;
  template <class F>
  static void time(LockClass which, F f) {
    const std::uint64_t before = ticks();
    f();
    const std::uint64_t after = ticks();
    waits_of_thread().add(which, after > before ? after - before : 0);
  }
  template <LockClass kClass>
  class TimedLock {
   public:
    void lock() {
      time(kClass, [this] { lock_.lock(); });
    }
    void unlock() { lock_.unlock(); }

   private:
    Real::Lock lock_;
  };
  template <LockClass kRead, LockClass kWrite>
  class TimedRwLock {
   public:
    void lock() {
      time(kWrite, [this] { lock_.lock(); });
    }
    void unlock() { lock_.unlock(); }
    void lock_shared() {
      time(kRead, [this] { lock_.lock_shared(); });
    }
    void unlock_shared() { lock_.unlock_shared(); }

   private:
    Real::RwLock lock_;
  };
  using Lock = TimedLock<LockClass::table>;
  using ChangeLock = TimedLock<LockClass::change>;
  using RwLock = TimedRwLock<LockClass::space_read, LockClass::space_write>;
  using IndexLock = TimedRwLock<LockClass::index_read, LockClass::index_write>;
  class Range {
   public:
    Range(lockswap::range_lock& lock, std::uint64_t start, std::uint64_t end, bool shared)
        : before_(ticks()), held_(lock, start, end, shared) {
      const std::uint64_t after = ticks();
      waits_of_thread().add(shared ? LockClass::range_read : LockClass::range_write,
                            after > before_ ? after - before_ : 0);
    }

   private:
    std::uint64_t before_;
    Real::Range held_;
  };
};

}  // namespace bench
