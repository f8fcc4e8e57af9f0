// Readers of many locks, which each thread picks at random: interference.cpp has the rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/random.h"
#include "common/report.h"

namespace bench {

// Lock has lock_shared and unlock_shared.
template <class Lock>
class alignas(128) ReaderOfMany {
 public:
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  static constexpr int kWarmUp = 32;

  ReaderOfMany(std::vector<Lock>& pool, unsigned number)
      : pool_(pool), pick_(number), steps_(number + 0x10000) {}

  // The first use of a lock by a thread touches new memory; that is not what is measured. Often
  // enough for BRAVO, which does not bias a lock at its first read, to do so.
  void warm_up() {
    for (Lock& lock : pool_) {
      for (int i = 0; i < kWarmUp; ++i) {
        lock.lock_shared();
        lock.unlock_shared();
      }
    }
  }

  template <class Watch>
  void work(Watch& watch, const std::atomic<bool>&) {
    constexpr int kBatch = 32;
    const auto n = static_cast<std::uint32_t>(pool_.size());
    for (int i = 0; i < kBatch; ++i) {
      Lock& lock = pool_[pick_.below(n)];
      watch.read([&] { lock.lock_shared(); });
      advance(20);
      lock.unlock_shared();
      advance(100);
      ++reads;
    }
  }

 private:
  void advance(unsigned n) noexcept {
    for (; n > 0; --n)
      keep(steps_.next());
  }

  std::vector<Lock>& pool_;
  Random pick_;
  Random steps_;
};

template <class Lock>
void run_many_locks(const Plan& plan, std::vector<Lock>& pool) {
  std::vector<ReaderOfMany<Lock>> workers;
  for (int i = 0; i < plan.threads; ++i)
    workers.emplace_back(pool, static_cast<unsigned>(i));
  run_and_print(plan, workers);
}

}  // namespace bench
