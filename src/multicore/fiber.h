// A virtual thread's stack, and the switch between two of them.
//
// Hand-written for the x86-64 System V ABI: only the registers that a call must keep are saved.
// (ucontext would make a system call at each switch.) Floating-point control words are not
// switched; nothing here changes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lockswap::multicore {

extern "C" void lockswap_fiber_switch(void** save_stack, void* to_stack);

class Fiber {
 public:
  using Entry = void (*)();  // must not return

  // Makes the next switch to this fiber start `entry` on an empty stack, and drops what ran there.
  void reset(Entry entry) {
    if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
#if defined(__SANITIZE_ADDRESS__)
    // The frames of what ran there will never return.
    __asan_unpoison_memory_region(stack_.get(), kBytes);
#endif
    auto top = reinterpret_cast<std::uintptr_t>(stack_.get() + kBytes) & ~std::uintptr_t{15};
    auto* frame = reinterpret_cast<void**>(top);
    *--frame = nullptr;                         // entry's return address: none
    *--frame = reinterpret_cast<void*>(entry);  // where the first switch returns to
    for (int i = 0; i < 6; ++i)
      *--frame = nullptr;  // rbp, rbx, r12..r15
    sp_ = frame;
  }

  // Leaves `from` and continues in this fiber.
  void enter_from(Fiber& from) { lockswap_fiber_switch(&from.sp_, sp_); }

 private:
  static constexpr std::size_t kBytes = std::size_t{128} * 1024;
  std::unique_ptr<std::byte[]> stack_;
  void* sp_ = nullptr;
};

}  // namespace lockswap::multicore
