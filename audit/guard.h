// How the audit takes the guards of its tables.
#pragma once

#include "audit/me.h"
#include "platform/atomic.h"
#include "platform/guard.h"

namespace lockswap::audit {

// Marks this thread as busy with bookkeeping. A signal handler that finds its thread busy takes no
// guard, since it might wait for the thread that it interrupted.
class Busy {
 public:
  Busy() noexcept : was_busy_(me().busy) {
    me().busy = true;
    signal_fence();
  }
  ~Busy() {
    signal_fence();
    me().busy = was_busy_;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool was_busy_;
};

// Holds a guard for the duration of a scope.
class Section {
 public:
  explicit Section(Guard& guard) noexcept : guard_(guard) { guard_.lock(); }
  ~Section() { guard_.unlock(); }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

 private:
  Busy busy_;
  Guard& guard_;
};

}  // namespace lockswap::audit
