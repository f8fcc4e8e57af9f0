// Two threads that hand three locks to each other, as folly's SharedMutex benchmark has it: in each
// round the first releases one that it has written under, and takes the one that the second has had
// two rounds before; the second takes the released one to read, and releases the one before.
// A read of this "lock" is a round, with the work after it.
#pragma once

#include <array>
#include <memory>

#include "multicore/cost/per_run.h"
#include "predict/lock.h"

namespace lockswap::predict::peers {

template <class L>
class PingPong final : public Lock {
 public:
  void begin() override {
    for (auto& lock : locks_) {
      lock = std::make_unique<L>();
      lock->begin();
    }
    round_ = {};
    locks_[0]->write();
    locks_[1]->write();
    locks_[2]->read();
  }
  void read() override {
    const std::size_t i = round_[me()]++;
    if (me() == 0) {
      locks_[i % 3]->write_unlock();
      locks_[(i + 2) % 3]->write();
    } else {
      // The release of the round before, after that round's work.
      if (i > 0) locks_[(i + 1) % 3]->read_unlock();
      locks_[i % 3]->read();
    }
  }
  void read_unlock() override {}
  void write() override {}
  void write_unlock() override {}

 private:
  static std::size_t me() { return static_cast<std::size_t>(cost::machine.current()); }

  std::array<std::unique_ptr<L>, 3> locks_;
  std::array<std::size_t, 2> round_{};
};

}  // namespace lockswap::predict::peers
