// Idea: the waiters are in the list of our own condition variable, over the mutex functions of the
// next library. Each has its turn number in place of a priority, so a signal wakes the one with the
// greatest number. A broadcast wakes all, and they wait in the mutex's gate.
// Left to the next library: condition variables that processes share, by glibc's flag in the
//   object. Those of programs linked before glibc 2.3.2 have no such flag, and are not handled
//   here.
#include "fuzz/conds.h"

#include <cstdint>

#include "fuzz/disturb.h"
#include "fuzz/tables.h"
#include "ops/cond_table.h"
#include "platform/process.h"
#include "platform/thread.h"

namespace lockswap::fuzz {
namespace {

// The mutex, which the thread releases and acquires as the program would, with points and its turn.
class Waiter {
 public:
  explicit Waiter(pthread_mutex_t* m) noexcept : m_(m) {}
  // Not ours, whatever it is, because the condition variables of the next library are used with it
  // too.
  static bool is_ours() noexcept { return false; }
  static std::uint64_t key() noexcept { return NativeCond::kNoRelay; }
  // Never 0, which is no priority, nor kOwnPriority.
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
