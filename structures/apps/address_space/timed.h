// The machine of an address space whose locks note how long each acquisition took: the waits of
// each class of locks. It costs two looks at the clock an acquisition, so no rates come from it.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "address_space/native.h"
#include "common/clock.h"
#include "platform/native.h"
#include "range/stages.h"
#include "range/tree.h"
#include "wait/park.h"

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
  tree,   // the spin lock inside the range lock of tree-full and tree-refined
};
inline constexpr std::size_t kLockClasses = 9;

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

template <class F>
void time_wait(LockClass which, F f) {
  const std::uint64_t before = ticks();
  f();
  const std::uint64_t after = ticks();
  waits_of_thread().add(which, after > before ? after - before : 0);
}

// The platform of a range lock whose spin lock is timed: SpinLock is specialised for it.
struct TimedPlatform : lockswap::Native {};

}  // namespace bench

namespace lockswap {

template <WaitPolicy<bench::TimedPlatform> W>
class SpinLock<bench::TimedPlatform, W> {
 public:
  bool lock() noexcept {
    bool orphaned = false;
    bench::time_wait(bench::LockClass::tree, [&] { orphaned = lock_.lock(); });
    return orphaned;
  }
  void unlock() noexcept { lock_.unlock(); }

 private:
  SpinLock<Native, Park<Native>> lock_{};
};

}  // namespace lockswap

namespace bench {

struct TimedMachine : lockswap::address_space::NativeMachine {
  using Real = lockswap::address_space::NativeMachine;
  template <LockClass kClass>
  class TimedLock {
   public:
    void lock() {
      time_wait(kClass, [this] { lock_.lock(); });
    }
    void unlock() { lock_.unlock(); }

   private:
    Real::Lock lock_;
  };
  template <LockClass kRead, LockClass kWrite, class Inner = Real::RwLock>
  class TimedRwLock {
   public:
    void lock() {
      time_wait(kWrite, [this] { lock_.lock(); });
    }
    void unlock() { lock_.unlock(); }
    void lock_shared() {
      time_wait(kRead, [this] { lock_.lock_shared(); });
    }
    void unlock_shared() { lock_.unlock_shared(); }

   private:
    Inner lock_;
  };
  using Lock = TimedLock<LockClass::table>;
  using ChangeLock = TimedLock<LockClass::change>;
  using RwLock = TimedRwLock<LockClass::space_read, LockClass::space_write>;
  using IndexLock = TimedRwLock<LockClass::index_read, LockClass::index_write>;
  // The library's, but built in here, where its spin lock can be timed.
  using TreeLock = lockswap::KernelRw<TimedPlatform, lockswap::Park<TimedPlatform>>;
  class Range {
   public:
    template <class Lock>
    Range(Lock& lock, std::uint64_t start, std::uint64_t end, bool shared) {
      time_wait(shared ? LockClass::range_read : LockClass::range_write,
                [&] { acquire(lock, start, end, shared); });
    }
    ~Range() {
      if (tree_ != nullptr) lockswap::release_range(*tree_, node_);
    }
    Range(const Range&) = delete;

   private:
    void acquire(lockswap::range_lock& lock, std::uint64_t start, std::uint64_t end, bool shared) {
      held_.emplace(lock, start, end, shared);
    }
    void acquire(TreeLock& lock, std::uint64_t start, std::uint64_t end, bool shared) {
      const lockswap::RangeRequest request{start, end, shared, false, nullptr};
      if (lockswap::acquire_range(lock, request, {}, node_) != 0) std::abort();
      tree_ = &lock;
    }

    std::optional<Real::Range> held_;
    TreeLock* tree_ = nullptr;
    TreeLock::Node* node_ = nullptr;
  };
};

}  // namespace bench
