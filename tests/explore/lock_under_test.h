// Reader-writer locks as the cases see them, built from the shipped headers on the exploration
// platform.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include "glibc_model.h"
#include "locks/common/events.h"
#include "locks/common/read_tokens.h"
#include "locks/rw/bravo.h"
#include "locks/rw/unbiased.h"
#include "multicore/explore/platform.h"
#include "multicore/explore/wait_at.h"
#include "posix/rw_contract.h"
#include "readers/row_slots.h"
#include "under_test.h"

namespace lockswap::explore {

// The core of a lock alone.
template <template <class, class> class CoreOf, template <class> class WaitOf>
class CoreLock final : public LockUnderTest {
  using Core = CoreOf<Explored, WaitAt<WaitOf<Explored>>>;
  using Reads = ReadTokens<Core>;
  static_assert(sizeof(Core) <= kPlaceBytes);

 public:
  void begin() override {
    Core::prepare();
    machine.heal(lock_memory(0));
    core_ = new (lock_memory(0)) Core{};
    if constexpr (requires { core_->use(); }) core_->use();
  }
  void begin_zeroed() override { begin(); }
  int read(How how) override {
    std::uint32_t& token = token_[machine.current()];  // these scripts do not read recursively
    if (how == How::only_try) return Reads::try_lock(*core_, token) ? 0 : EBUSY;
    const Deadline* deadline = deadline_for(how);
    token = core_->read_arrive();
    const bool in = Reads::is_in(token) || Reads::wait(*core_, token, deadline) ||
                    !Reads::withdraw(*core_, token);
    return in ? 0 : ETIMEDOUT;
  }
  int write(How how) override {
    if (how == How::only_try) return core_->try_write_lock() ? 0 : EBUSY;
    if (const Deadline* deadline = deadline_for(how); deadline != nullptr) {
      return core_->write_lock_until(deadline) ? 0 : ETIMEDOUT;
    }
    core_->write_lock();
    return 0;
  }
  int unlock(bool is_write) override {
    if (!is_write) return Reads::unlock(*core_, token_[machine.current()]) ? 0 : EPERM;
    core_->write_unlock();
    return 0;
  }
  void destroy() override {
    if constexpr (requires { core_->destroy(); }) core_->destroy();
    machine.poison(core_, sizeof *core_);
  }
  std::uint64_t key() const override { return reinterpret_cast<std::uintptr_t>(core_); }
  bool at_rest() override { return core_->idle() && !core_->has_readers() && !core_->has_writer(); }
  Claims claims() const override { return Core::kClaims; }

 private:
  Core* core_ = nullptr;
  std::uint32_t token_[kMaxThreads] = {};
};

// What is between the core and the contract.
struct Direct {
  template <class W, class Core>
  using Lock = Unbiased<Explored, Core, CountNothing>;
};
struct UnderBravo {
  template <class W, class Core>
  using Lock = Bravo<Explored, W, Core, CountNothing>;
};
struct UnderBravoAsym {  // readers use rows
  template <class W, class Core>
  using Lock = Bravo<Explored, W, Core, CountNothing, RowSlots<Explored, W>>;
};

// A lock behind the contract of POSIX, called as ops/rw_ops.h calls it.
template <template <class, class> class CoreOf, template <class> class WaitOf, class Over>
class ContractLock final : public LockUnderTest {
  using W = WaitAt<WaitOf<Explored>>;
  using Core = CoreOf<Explored, W>;
  using Lock = typename Over::template Lock<W, Core>;
  static constexpr bool kBravo = requires(const typename Lock::Frame& frame) {
    Lock::has_ended(frame);
  };
  using Contract = RwContract<Explored, W, Lock, CountNothing>;
  using Frame = typename Contract::Frame;
  // glibc's: a lock that its own functions change.
  static constexpr bool kSystems = !requires(Core & core) { core.idle(); };
  static_assert(sizeof(Frame) <= kPlaceBytes);

 public:
  explicit ContractLock(int place = 0) : place_(place) {}
  void begin() override {
    begin_zeroed();
    Contract::begin(*f_);
    // The first use of such a lock is an update of its own, before the doorway.
    if constexpr (requires { f_->core.use(); }) f_->core.use();
  }
  void begin_zeroed() override {
    Contract::prepare();
    machine.heal(lock_memory(place_));
    f_ = new (lock_memory(place_)) Frame{};
    if constexpr (kSystems) GlibcModel<Frame>::install();
  }
  int read(How how) override {
    if (how == How::wait) {
      std::uint64_t rest = Contract::fast_read(*f_);
      if (rest == Contract::kNotBegun) rest = Contract::nested_read(*f_);
      if (rest == 0) return 0;
      if (!Contract::adopted(*f_)) Contract::adopt(*f_);
      return Contract::slow_read(*f_, rest, nullptr);
    }
    if (!Contract::adopted(*f_)) Contract::adopt(*f_);
    return Contract::read_lock(*f_, patience(how));
  }
  int write(How how) override {
    if (how == How::wait) {
      const Below below = Contract::fast_write(*f_);
      if (below == Below::in) return 0;
      if (below == Below::arrived) return Contract::go_on_writing(*f_);
    }
    if (!Contract::adopted(*f_)) Contract::adopt(*f_);
    return how == How::wait ? Contract::write_lock(*f_) : Contract::write_lock(*f_, patience(how));
  }
  int unlock(bool) override {
    std::uint32_t token = 0;
    if (Contract::has_only_hold(*f_, token)) return Contract::fast_read_unlock(*f_, token);
    if (Contract::is_own_write(*f_) && Contract::adopted(*f_)) {
      if (!Contract::fast_write_unlock(*f_)) Contract::write_unlock(*f_);
      return 0;
    }
    if (int result = 0; Contract::nested_read_unlock(*f_, result)) return result;
    if (!Contract::adopted(*f_)) Contract::adopt(*f_);
    return Contract::slow_unlock(*f_);
  }
  void destroy() override {
    Contract::destroy(*f_);
    machine.poison(f_, sizeof *f_);
  }
  std::uint64_t key() const override { return f_->key(); }
  bool at_rest() override {
    if (f_->writer.load(relaxed) != 0) return false;
    const bool has_flags = RwWord<Explored>::flags_in(f_->contract.load(relaxed)) != 0;
    if (has_flags && !Contract::is_marked(*f_)) return false;
    if constexpr (kBravo) {
      if (Lock::has_ended(*f_) && !Contract::is_marked(*f_)) return false;
    }
    if constexpr (kSystems) {
      return GlibcModel<Frame>::idle();
    } else {
      return f_->core.idle();
    }
  }
  bool has_fast_readers() const override {
    if constexpr (kBravo) return Lock::has_fast_readers(*f_);
    return false;
  }
  bool tells_deadlocks() const override { return true; }
  Claims claims() const override { return Contract::kClaims; }
  bool readers_wait_for_readers() const override { return Core::kClaims.readers_exclude; }

 private:
  static Patience patience(How how) {
    return {.only_try = how == How::only_try, .deadline = deadline_for(how)};
  }
  const int place_;
  Frame* f_ = nullptr;
};

}  // namespace lockswap::explore
