// A mutex as glibc's is: a word that says free, held, or held with threads that may sleep. A
// release gives it to nobody, so a thread that comes may take it past those that wait. glibc's
// source cannot run here; condition variables beside it (LOCKSWAP_COND=own) are explored over this.
//
// Algorithm: U. Drepper, "Futexes are tricky" (2011), mutex2. As glibc's it knows nothing of forks:
// what a child finds held stays so. Unlike glibc's a release wakes all that sleep.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>

#include "multicore/explore/platform.h"
#include "multicore/explore/wait_at.h"
#include "mutex_under_test.h"
#include "wait/park.h"

namespace lockswap::explore {

class BargingMutex final : public MutexWithCond {
  using W = WaitAt<Park<Explored>>;
  using Word = ExploredAtomic<std::uint32_t>;

 public:
  using MutexWithCond::MutexWithCond;
  void begin() override {
    machine.heal(lock_memory(place_));
    word_ = new (lock_memory(place_)) Word{};
    begin_cond();
  }
  void begin_zeroed() override { begin(); }
  int write(How how) override {
    std::uint32_t free = 0;
    // acquire, here and below: pairs with the release in unlock.
    if (word_->compare_exchange(free, kHeld, acquire)) return 0;
    if (how == How::only_try) return EBUSY;
    const Deadline* deadline = deadline_for(how);
    while (word_->exchange(kContended, acquire) != 0) {
      if (!W::until(*word_, relaxed, 0, kChannel, deadline,
                    [](std::uint32_t v) { return v != kContended; })) {
        return ETIMEDOUT;
      }
    }
    return 0;
  }
  int unlock(bool) override {
    if (word_->exchange(0, release) == kContended) W::wake(word_, kChannel);
    return 0;
  }
  void destroy() override { machine.poison(word_, sizeof *word_); }
  bool at_rest() override {
    end_cond();
    return word_->load(relaxed) == 0;
  }
  Claims claims() const override { return {}; }

 private:
  static constexpr std::uint32_t kHeld = 1, kContended = 2;
  static constexpr std::uint32_t kChannel = 1;
  Word* word_ = nullptr;
};

}  // namespace lockswap::explore
