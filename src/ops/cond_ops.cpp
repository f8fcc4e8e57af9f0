#include "ops/cond_ops.h"

#include <cstdint>

#include "ops/cond_table.h"
#include "platform/native.h"
#include "probes/probes.h"

namespace lockswap {
namespace {

constinit MutexOps mutex_functions{};
constinit MutexOfConds mutex_of_conds{};

// The mutex of a wait. The mutex counts threads that wait with it, so that destroying it returns
// EBUSY. This is so for glibc's mutexes and for ours, except for robust ones, which glibc does not
// check either.
class WaitersMutex {
 public:
  explicit WaitersMutex(pthread_mutex_t* m) noexcept
      : m_(m), ours_(mutex_of_conds.is_ours(m)), process_(Native::process()) {}

  bool is_ours() const noexcept { return ours_; }
  // For Condvar::wait. A thread that waits with a mutex with priority inheritance or ceiling must
  // not wait for other waiters.
  std::uint64_t key() const noexcept {
    const bool hands_on = (m_->__data.__kind & (kInherits | kProtects)) != 0;
    return hands_on ? NativeCond::kNoRelay : reinterpret_cast<std::uintptr_t>(m_);
  }
  static std::uint32_t priority() noexcept { return NativeCond::kOwnPriority; }
  int unlock() noexcept {
    count(true);  // before: afterwards another thread may destroy it
    probes::mutex_release(m_);
    const int error = mutex_functions.unlock(m_);
    if (error != 0) count(false);
    return error;
  }
  int lock(bool is_awake) noexcept {
    if (is_awake && !ours_) let_signaller_out();
    probes::mutex_entry(m_);
    const int error = mutex_functions.lock(m_);
    if (error == 0) count(false);
    return error;
  }

 private:
  // Bits of glibc's kind.
  static constexpr int kRobust = 16, kInherits = 32, kProtects = 64;

  // glibc's mutex would put a thread to sleep that comes before the signalling thread has released
  // it. That thread is running, so it does so in a moment.
  void let_signaller_out() const noexcept {
    for (std::uint32_t i = 0; i < Native::kMoment; ++i) {
      if (!is_locked(m_)) return;
      Native::relax();
    }
  }
  void count(bool begins) const noexcept {
    if (ours_) {
      // A child's repair has dropped the parent's waiters.
      if (Native::process() == process_) mutex_of_conds.count_waiter(m_, begins);
    } else if (m_->__data.__owner == static_cast<int>(Native::tid()) &&
               (m_->__data.__kind & kRobust) == 0) {
      // glibc's own wait would leave the thread counted as a user of the mutex.
      begins ? ++m_->__data.__nusers : --m_->__data.__nusers;
    }
  }

  pthread_mutex_t* m_;
  bool ours_;
  std::uint64_t process_;
};

}  // namespace

bool prepare_conds(const MutexOps& mutexes, const MutexOfConds& of_conds) noexcept {
  mutex_functions = mutexes;
  mutex_of_conds = of_conds;
  return NativeCond::prepare();
}

const CondOps& cond_ops() noexcept { return cond_table<WaitersMutex>(); }
constinit const CondOps old_cond_ops = CondTable<OldCond, WaitersMutex>::table;

}  // namespace lockswap
