// Entering an audited call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "audit/address.h"
#include "audit/report.h"
#include "audit/world.h"
#include "platform/call_mark.h"

namespace lockswap::audit {

// Where the exported function was called from. The exported functions jump here (this call is the
// last thing they do), so the return address is in their caller. The tests check that.
#define LOCKSWAP_AUDIT_SITE ::lockswap::audit::address_of(__builtin_return_address(0))

// Counts the calls of a function. record.h has a counter for each line of the table's list, in the
// same order, starting with kFirst.
template <class C, Count kFirst>
constexpr Count kCallsOf = static_cast<Count>(static_cast<std::size_t>(kFirst) + C::kPlace);
constexpr bool are_counts_of(std::size_t table_bytes, Count first, Count last) noexcept {
  return table_bytes / sizeof(void (*)()) ==
         static_cast<std::size_t>(last) - static_cast<std::size_t>(first) + 1;
}

// Marks the thread as inside an audited call. If it is inside one already, this call comes from a
// signal handler, or the thread has left the other call by a jump out of a handler. Either is
// noted. If the handler interrupted the bookkeeping itself, this call goes to glibc unrecorded.
class Entry {
 public:
  [[gnu::always_inline]] Entry(const void* lock, std::uint64_t site) noexcept
      : me_(audit::me()), recorded_(!me_.busy) {
    if (recorded_) {
      known_me(site);
    } else {
      count(Count::unrecorded);
    }
    if (me_.inside != 0 && recorded_) [[unlikely]]
      inside_another(lock, site, __builtin_frame_address(0));
    if (me_.inside++ == 0) me_.outer = {&mark_, lock, site};
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
  // frame: that of the exported function.
  [[gnu::noinline]] void inside_another(const void* lock, std::uint64_t site,
                                        const void* frame) noexcept;

  Me& me_;
  bool recorded_;
  CallMark mark_;
};

// Called at the end of a thread, which may have been cancelled in a call.
void note_left_call(const Me& m) noexcept;
// Called at the end of the process by the thread that ends it, with a stack frame of that thread.
void note_left_call_at_exit(const Me& m, const void* frame) noexcept;

}  // namespace lockswap::audit
