// Range locks that are made of reader-writer locks, as the cases see them.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <pthread.h>

#include "locks/common/events.h"
#include "locks/rw/pf-t.h"
#include "locks/rw/unbiased.h"
#include "multicore/explore/platform.h"
#include "platform/system_rwlock.h"
#include "posix/rw_contract.h"
#include "range/segments.h"
#include "range_script.h"

namespace lockswap::explore {

// PF-T behind the contract of POSIX, called as ops/rw_ops.h calls it. A frame is larger here
// than a pthread_rwlock_t, which only says where it is.
template <class W>
class ExploredRwOps {
  using Lock = Unbiased<Explored, PfT<Explored, W>, CountNothing>;
  using Contract = RwContract<Explored, W, Lock, CountNothing>;

 public:
  using Frame = typename Contract::Frame;
  static bool prepare() { return Contract::prepare(); }
  static void begin(pthread_rwlock_t& l, void* bytes) {
    const auto at = reinterpret_cast<std::uintptr_t>(new (bytes) Frame{});
    std::memcpy(&l, &at, sizeof at);
  }

 private:
  static Frame& frame(const pthread_rwlock_t* l) {
    std::uintptr_t at;
    std::memcpy(&at, l, sizeof at);
    Frame& f = *reinterpret_cast<Frame*>(at);
    if (!Contract::adopted(f)) Contract::adopt(f);
    return f;
  }
  static int rdlock(pthread_rwlock_t* l) { return Contract::read_lock(frame(l), {}); }
  static int tryrdlock(pthread_rwlock_t* l) {
    return Contract::read_lock(frame(l), {.only_try = true});
  }
  static int clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* at) {
    const Deadline deadline{clock, *at};
    return Contract::read_lock(frame(l), {.deadline = &deadline});
  }
  static int wrlock(pthread_rwlock_t* l) { return Contract::write_lock(frame(l)); }
  static int trywrlock(pthread_rwlock_t* l) {
    return Contract::write_lock(frame(l), {.only_try = true});
  }
  static int clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* at) {
    const Deadline deadline{clock, *at};
    return Contract::write_lock(frame(l), {.deadline = &deadline});
  }
  static int unlock(pthread_rwlock_t* l) {
    Frame& f = frame(l);
    std::uint32_t token = 0;
    if (Contract::has_only_hold(f, token)) return Contract::fast_read_unlock(f, token);
    if (!Contract::is_own_write(f)) return Contract::slow_unlock(f);
    Contract::write_unlock(f);
    return 0;
  }

 public:
  // What segments.h calls.
  static constexpr RwOps table{nullptr, nullptr,   rdlock,  tryrdlock,   nullptr, clockrdlock,
                               wrlock,  trywrlock, nullptr, clockwrlock, unlock};
};

// kCount locks of kLength units each, in turn.
template <class W, std::uint32_t kCount, std::uint64_t kLength>
class SegmentsUnderTest final : public RangeUnderTest {
  using Ops = ExploredRwOps<W>;
  using Frame = typename Ops::Frame;
  static constexpr int kCountShift = 8;

 public:
  void begin() override {
    Ops::prepare();
    for (int which = 0; which < kLocks; ++which) {
      for (std::uint32_t i = 0; i < kCount; ++i)
        Ops::begin(locks_[which][i], frames_[which][i]);
    }
  }
  int acquire(int which, const RangeRequest& r, void*& handle) override {
    const Segments s = Segments::of_range(r.start, r.end, kLength, kCount);
    handle = reinterpret_cast<void*>(std::uintptr_t{s.count} << kCountShift | s.first);
    return locks(which).take(s, r);
  }
  void release(int which, void* handle) override {
    const auto name = reinterpret_cast<std::uintptr_t>(handle);
    locks(which).give_back({static_cast<std::uint32_t>(name % (1u << kCountShift)),
                            static_cast<std::uint32_t>(name >> kCountShift), kCount});
  }
  void downgrade(int, void*) override {}  // there is none
  int try_upgrade(int, void*) override { return ENOTSUP; }
  bool busy(int which) override { return locks(which).busy(kCount); }
  bool can_share() const override { return true; }

 private:
  SegmentLocks locks(int which) { return {Ops::table, locks_[which]}; }

  pthread_rwlock_t locks_[kLocks][kCount];
  alignas(Frame) std::byte frames_[kLocks][kCount][sizeof(Frame)];
};

}  // namespace lockswap::explore
