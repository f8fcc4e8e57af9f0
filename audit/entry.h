// The way into an audited call.
#pragma once

#include <cstdint>

#include "audit/report.h"
#include "audit/world.h"

namespace lockswap::audit {

// Where the exported function was called from. The exported functions jump here (their last act is
// the call), so the return address is their caller's; the tests look at it.
#define LOCKSWAP_AUDIT_SITE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))

// Marks a call on the thread for its duration. A thread that is already inside a call got there
// through a signal handler, which is noted; if it interrupted the bookkeeping itself, this call
// goes on to glibc unrecorded.
class Entry {
 public:
  Entry(const void* lock, std::uint64_t site) noexcept : me_(audit::me()), recorded_(!me_.busy) {
    if (recorded_) {
      known_me(site);
    } else {
      count(Count::unrecorded);
    }
    if (me_.inside++ != 0 && recorded_) {
      note(Finding::in_signal_handler, {.lock = lock, .site = site});
    }
    signal_fence();
  }
  ~Entry() {
    signal_fence();
    --me_.inside;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  Me& me() const noexcept { return me_; }
  bool recorded() const noexcept { return recorded_; }

 private:
  Me& me_;
  bool recorded_;
};

}  // namespace lockswap::audit
