// A lock of the model with the data that it protects.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "multicore/cost/machine.h"
#include "predict/lock.h"

namespace lockswap::predict {

struct alignas(128) Line {
  std::uint64_t word = 0;
};

class Guarded {
 public:
  Guarded(std::unique_ptr<Lock> lock, int lines)
      : lock_(std::move(lock)), data_(static_cast<std::size_t>(lines)) {}
  void begin() { lock_->begin(); }
  // Acquires the lock, and reads or changes the data.
  void acquire(bool writes) {
    writes ? lock_->write() : lock_->read();
    enter(writes);
    for (const Line& line : data_)
      cost::machine.access(&line, writes ? cost::Access::write : cost::Access::read);
  }
  void release() {
    const bool writes = inside_ < 0;
    inside_ = writes ? 0 : inside_ - 1;
    writes ? lock_->write_unlock() : lock_->read_unlock();
  }

 private:
  // Checks exclusion, because a lock that lets threads in together would look fast.
  void enter(bool writes) {
    if (writes ? inside_ != 0 : inside_ < 0) {
      std::fprintf(stderr, "lockswap-model: the lock let a thread in beside a writer\n");
      std::abort();
    }
    inside_ = writes ? -1 : inside_ + 1;
  }

  std::unique_ptr<Lock> lock_;
  std::vector<Line> data_;
  int inside_ = 0;  // readers; -1: a writer
};

}  // namespace lockswap::predict
