// A mutex and a condition variable as the cases see them, built from the shipped headers on the
// exploration platform. Scripts call the mutex as a lock that is only acquired for writing.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include "locks/common/events.h"
#include "multicore/explore/platform.h"
#include "multicore/explore/wait_at.h"
#include "posix/condvar.h"
#include "posix/mutex_contract.h"
#include "under_test.h"
#include "wait/park.h"

namespace lockswap::explore {

// What both forms of a mutex have in common.
class MutexUnderTest : public LockUnderTest {
 public:
  explicit MutexUnderTest(int place = 0) : place_(place) {}
  int read(How how) override { return write(how); }
  std::uint64_t key() const override {
    return reinterpret_cast<std::uintptr_t>(lock_memory(place_));
  }

 protected:
  const int place_;
};

// The core of a mutex alone.
template <template <class, class> class CoreOf, template <class> class WaitOf>
class MutexCore final : public MutexUnderTest {
  using Core = CoreOf<Explored, WaitAt<WaitOf<Explored>>>;

 public:
  void begin() override {
    Core::prepare();
    machine.heal(lock_memory(place_));
    core_ = new (lock_memory(place_)) Core{};
    if constexpr (requires { core_->use(); }) core_->use();
  }
  void begin_zeroed() override { begin(); }
  int write(How how) override {
    if (how == How::only_try) return core_->try_lock() ? 0 : EBUSY;
    if (const Deadline* deadline = deadline_for(how); deadline != nullptr) {
      return core_->lock_until(deadline) ? 0 : ETIMEDOUT;
    }
    core_->lock();
    return 0;
  }
  int unlock(bool) override {
    core_->unlock();
    return 0;
  }
  void destroy() override { machine.poison(core_, sizeof *core_); }
  bool at_rest() override { return core_->idle(); }
  Claims claims() const override { return Core::kClaims; }

 private:
  Core* core_ = nullptr;
};

// Sleeps as the real one does, between two moments at which a cancellation or a signal may come.
class ExploredSleep {
 public:
  explicit ExploredSleep(const Interruption& interruption) : interruption_(interruption) {}
  static constexpr int cancellations = 1;  // that there may be in one execution

  template <class A>
  Slept park(const A& atom, std::uint32_t low_half, std::uint32_t channels,
             const Deadline* deadline, Site s = Site::current()) {
    // A thread that comes back may have been woken already, though it has not seen that.
    if (interruption_.before && !slept_) handle();
    slept_ = true;
    if (comes()) return Slept::cancelled;
    const Parked parked = Explored::park(atom, low_half, channels, deadline, s);
    if (interruption_.after) handle();
    if (comes()) return Slept::cancelled;
    return parked == Parked::timed_out ? Slept::timed_out : Slept::woken;
  }
  // Before a spin.
  bool is_cancelled() {
    if (interruption_.before && !slept_) handle();
    return comes();
  }

 private:
  struct Left {
    int n = 0;
    std::uint64_t last = 0;  // see Machine::visits
  };
  struct Handled {
    bool so = false;
    std::uint64_t last = 0;
  };
  void handle() {
    if (!interruption_.handler) return;
    Handled& handled = Explored::global<Handled>();
    machine.visits(handled.last);
    if (handled.so || !machine.happens()) return;
    handled.so = true;
    machine.note("runs a signal handler ...");
    interruption_.handler();
    machine.note("... and returns from it");
  }
  bool comes() {
    if (!interruption_.cancellable) return false;
    Left& used = Explored::global<Left>();
    machine.visits(used.last);
    if (used.n == cancellations || !machine.happens()) return false;
    ++used.n;
    machine.note("is cancelled");
    return true;
  }

  Interruption interruption_;
  bool slept_ = false;
};

// A mutex with a condition variable, that of its number: the other mutex has the other one.
class MutexWithCond : public MutexUnderTest {
  using Cond = Condvar<Explored, WaitAt<Park<Explored>>>;
  static_assert(sizeof(Cond) <= kPlaceBytes);

 public:
  using MutexUnderTest::MutexUnderTest;
  int cond_wait(int number, How how, const Interruption& interruption) override {
    ExploredSleep sleep(interruption);
    const auto o = cond(number).wait(
        key(), sleep, deadline_for(how),
        [&] { return interruption.has_mutex ? unlock(true) : EPERM; },
        [this](bool) { return write(How::wait); });
    return o.cancelled ? ECANCELED : o.error;
  }
  void cond_signal(int number) override { cond(number).signal(); }
  void cond_broadcast(int number) override { cond(number).broadcast(); }
  void cond_destroy(int number) override {
    cond(number).destroy();
    machine.poison(&cond(number), sizeof(Cond));
    if (number == place_) cond_gone_ = true;
  }

 protected:
  void begin_cond() {
    Cond::prepare();
    machine.heal(cond_memory(place_));
    new (cond_memory(place_)) Cond{};
    cond_gone_ = false;
  }
  // Must come to an end.
  void end_cond() {
    if (!cond_gone_) cond(place_).destroy();
  }

 private:
  static Cond& cond(int number) {
    return *std::launder(reinterpret_cast<Cond*>(cond_memory(number)));
  }
  bool cond_gone_ = false;
};

// A mutex behind the contract of POSIX, called as ops/mutex_ops.h calls it.
template <template <class, class> class CoreOf, template <class> class WaitOf,
          std::uint32_t kKind = 0>
class MutexLock final : public MutexWithCond {
  using W = WaitAt<WaitOf<Explored>>;
  using Contract = MutexContract<Explored, CoreOf<Explored, W>, CountNothing>;
  using Frame = typename Contract::Frame;
  static_assert(sizeof(Frame) <= kPlaceBytes);

 public:
  using MutexWithCond::MutexWithCond;
  void begin() override {
    begin_zeroed();
    Contract::begin(*f_);
    if constexpr (requires { f_->core.use(); }) f_->core.use();
  }
  void begin_zeroed() override {
    Contract::prepare();
    machine.heal(lock_memory(place_));
    f_ = new (lock_memory(place_)) Frame{};
    f_->kind = kKind;
    begin_cond();
  }
  int write(How how) override {
    if (how == How::wait && Contract::is_plain(*f_)) {
      if (const auto rest = Contract::fast_lock(*f_); rest != 0) {
        Contract::slow_lock(*f_, rest);
      }
      return 0;
    }
    if (const auto me = Contract::known_id(*f_); how == How::wait && me != 0) {
      if (Contract::is_owned(*f_, me)) return Contract::lock_again(*f_);
      if (const auto rest = Contract::fast_lock(*f_, me); rest != 0) {
        Contract::slow_lock(*f_, rest);
      }
      return 0;
    }
    adopt();
    if (how == How::only_try) return Contract::try_lock(*f_);
    const Deadline* deadline = deadline_for(how);
    if (deadline == nullptr) return Contract::lock(*f_);
    return Contract::lock_until(*f_, deadline, [](const Deadline&) { return true; });
  }
  int unlock(bool) override {
    if (Contract::is_plain(*f_)) {
      if (const auto rest = Contract::fast_unlock(*f_); rest != 0) {
        Contract::slow_unlock(*f_, rest);
      }
      return 0;
    }
    if (const auto me = Contract::known_id(*f_); me != 0 && Contract::is_owned(*f_, me)) {
      if (Contract::unlock_again(*f_)) return 0;
      if (const auto rest = Contract::fast_unlock(*f_); rest != 0) {
        Contract::slow_unlock(*f_, rest);
      }
      return 0;
    }
    adopt();
    return Contract::unlock(*f_);
  }
  void destroy() override {
    if (const int error = Contract::destroy(*f_); error != 0) {
      machine.fail("destroy returned errno %d", error);
    }
    machine.poison(f_, sizeof *f_);
  }
  bool at_rest() override {
    end_cond();
    return f_->owner.load(relaxed) == 0 && f_->core.idle();
  }
  Claims claims() const override { return Contract::kClaims; }

 private:
  void adopt() {
    if (!Contract::is_adopted(*f_)) Contract::adopt(*f_);
  }
  Frame* f_ = nullptr;
};

}  // namespace lockswap::explore
