// Idea: the waiters are in the list of our own condition variable, over the mutex functions of the
//   next library in line. Each has its turn number in place of a priority, so a signal is for the
//   greatest; a broadcast wakes all, who then stand in the mutex's gate.
// Left to the next library: condition variables that processes share, as glibc's flag in the object
//   says. Those of programs linked before glibc 2.3.2 have no such flag, and do not come here.
#include "fuzz/conds.h"

#include <cstdint>

#include "fuzz/disturb.h"
#include "fuzz/tables.h"
#include "ops/cond_table.h"
#include "platform/process.h"
#include "platform/thread.h"

namespace lockswap::fuzz {
namespace {

// The mutex, which the thread releases and takes as the program would, with points and its turn.
class Waiter {
 public:
  explicit Waiter(pthread_mutex_t* m) noexcept : m_(m) {}
  // Whichever it is: the next library's condition variables, too, are asked for.
  static bool is_ours() noexcept { return false; }
  static std::uint64_t key() noexcept { return NativeCond::kNoRelay; }
  // Neither 0, which is no priority, nor kOwnPriority.
  static std::uint32_t priority() noexcept {
    return 1 + static_cast<std::uint32_t>(my_turn_number() >> 33);
  }
  int unlock() noexcept { return disturbed_mutex.unlock(m_); }
  int lock(bool) noexcept { return disturbed_mutex.lock(m_); }

 private:
  pthread_mutex_t* m_;
};

void in_forked_child() noexcept { Process::forked(); }

}  // namespace

bool prepare_conds() noexcept {
  if (!learn_cond_layout()) return false;
  chosen_cond = cond_table<Waiter>();
  ThreadExit::prepare();
  return NativeCond::prepare() && pthread_atfork(nullptr, nullptr, in_forked_child) == 0;
}

constinit CondOps chosen_cond{};

}  // namespace lockswap::fuzz
