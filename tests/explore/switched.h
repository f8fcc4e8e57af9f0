// Locks that the kill switch may leave to the system, as the cases see them.
//
// The locks are textbooks' (tests/example_lock): what is explored stands in posix/adoption.h, which
// all locks share. The system's locks are models, with a word of their own.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>

#include "../example_lock/central.h"
#include "../example_lock/test-and-set.h"
#include "glibc_model.h"
#include "lock_under_test.h"
#include "mutex_under_test.h"
#include "wait/spin.h"

namespace lockswap::explore {

// Called as ops/rw_ops.h calls it.
class SwitchedRw final : public LockUnderTest {
  using Wait = WaitAt<Spin<Explored>>;
  using Lock = Unbiased<Explored, Central<Explored, Wait>, CountNothing>;
  using Contract = RwContract<Explored, Wait, Lock, CountNothing>;
  using Frame = typename Contract::Frame;

 public:
  void begin() override {
    begin_zeroed();
    Contract::begin(*f_);
  }
  void begin_zeroed() override {
    Contract::prepare();
    machine.heal(lock_memory(0));
    f_ = new (lock_memory(0)) Frame{};
    GlibcModel<Frame>::install();
  }
  int read(How) override {
    std::uint64_t rest = Contract::fast_read(*f_);
    if (rest == Contract::kNotBegun) rest = Contract::nested_read(*f_);
    if (rest == 0) return 0;
    return is_ours() ? Contract::slow_read(*f_, rest, nullptr) : system_rwlock.rdlock(object());
  }
  int write(How how) override {
    if (!is_ours()) {
      return (how == How::only_try ? system_rwlock.trywrlock : system_rwlock.wrlock)(object());
    }
    return how == How::wait ? Contract::write_lock(*f_)
                            : Contract::write_lock(*f_, {.only_try = true});
  }
  int unlock(bool) override {
    std::uint32_t token = 0;
    if (Contract::has_only_hold(*f_, token)) return Contract::fast_read_unlock(*f_, token);
    if (Contract::is_own_write(*f_) && Contract::adopted(*f_)) {
      Contract::write_unlock(*f_);
      return 0;
    }
    if (int result = 0; Contract::nested_read_unlock(*f_, result)) return result;
    return is_ours() ? Contract::slow_unlock(*f_) : system_rwlock.unlock(object());
  }
  void destroy() override {
    if (!Contract::is_systems(*f_) || Contract::adopted(*f_)) Contract::destroy(*f_);
    machine.poison(f_, sizeof *f_);
  }
  std::uint64_t key() const override { return f_->key(); }
  bool at_rest() override {
    return f_->writer.load(relaxed) == 0 && f_->core.idle() && GlibcModel<Frame>::idle();
  }
  Claims claims() const override { return {}; }

 private:
  bool is_ours() { return Contract::adopted(*f_) || Contract::adopt(*f_); }
  pthread_rwlock_t* object() { return reinterpret_cast<pthread_rwlock_t*>(f_); }
  Frame* f_ = nullptr;
};

// What the switch does to a mutex that has begun.
enum class Existing : std::uint8_t {
  stays,         // nothing
  is_handed_on,  // a thread that finds it free makes it the system's: the fault in that idea
};

// Called as ops/mutex_ops.h calls it.
template <Existing kExisting>
class SwitchedMutex final : public MutexUnderTest {
  using Wait = WaitAt<Spin<Explored>>;
  using Contract = MutexContract<Explored, TestAndSet<Explored, Wait>, CountNothing>;
  using Frame = typename Contract::Frame;

 public:
  void begin() override {
    begin_zeroed();
    Contract::begin(*f_);
  }
  void begin_zeroed() override {
    Contract::prepare();
    machine.heal(lock_memory(place_));
    f_ = new (lock_memory(place_)) Frame{};
    Explored::global<Systems>();
  }
  int write(How how) override {
    if (kExisting == Existing::is_handed_on && Explored::begins_systems()) hand_on();
    if (Contract::is_plain(*f_)) {
      if (const auto rest = Contract::fast_lock(*f_); rest != 0) Contract::slow_lock(*f_, rest);
      return 0;
    }
    if (!is_ours()) return lock_systems(how);
    return how == How::only_try ? Contract::try_lock(*f_) : Contract::lock(*f_);
  }
  int unlock(bool) override {
    if (Contract::is_plain(*f_)) {
      if (const auto rest = Contract::fast_unlock(*f_); rest != 0) Contract::slow_unlock(*f_, rest);
      return 0;
    }
    if (is_ours()) return Contract::unlock(*f_);
    systems().store(0, release);
    return 0;
  }
  void destroy() override {
    if (Contract::is_ours(*f_) && Contract::destroy(*f_) != 0) machine.fail("destroy: EBUSY");
    machine.poison(f_, sizeof *f_);
  }
  bool at_rest() override {
    return f_->owner.load(relaxed) == 0 && f_->core.idle() && systems().load(relaxed) == 0;
  }
  Claims claims() const override { return {}; }

 private:
  struct Systems {
    ExploredAtomic<std::uint32_t> word;
  };
  static ExploredAtomic<std::uint32_t>& systems() { return Explored::global<Systems>().word; }
  static int lock_systems(How how) {
    for (std::uint32_t free = 0; !systems().compare_exchange(free, 1, acquire); free = 0) {
      if (how == How::only_try) return EBUSY;
      Explored::await(Pause::spin, systems(), relaxed, [](std::uint32_t v) { return v == 0; });
    }
    return 0;
  }
  void hand_on() {
    std::uint64_t word = f_->contract.load(acquire);
    if (!Contract::is_adopted(*f_) || f_->owner.load(acquire) != 0 || !f_->core.idle()) return;
    f_->contract.compare_exchange(word, kSystemsWord, acq_rel);
  }
  bool is_ours() {
    return Contract::is_adopted(*f_) || (Contract::is_ours(*f_) && Contract::adopt(*f_));
  }
  Frame* f_ = nullptr;
};

}  // namespace lockswap::explore
