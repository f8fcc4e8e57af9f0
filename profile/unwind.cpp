#include "profile/unwind.h"

#include "profile/cfi.h"
#include "profile/modules.h"

namespace lockswap::profile {
namespace {

inline void capture(Frame& f) noexcept {
#if defined(__x86_64__)
  asm volatile(
      "leaq 0f(%%rip), %%rax\n0:\n\t"
      "movq %%rax, 128(%0)\n\t"
      "movq %%rbx, 24(%0)\n\t"
      "movq %%rbp, 48(%0)\n\t"
      "movq %%rsp, 56(%0)\n\t"
      "movq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\t"
      "movq %%r14, 112(%0)\n\t"
      "movq %%r15, 120(%0)"
      :
      : "r"(f.reg)
      : "rax", "memory");
  f.pc = f.reg[16];
#elif defined(__aarch64__)
  asm volatile(
      "stp x18, x19, [%0, 144]\n\tstp x20, x21, [%0, 160]\n\tstp x22, x23, [%0, 176]\n\t"
      "stp x24, x25, [%0, 192]\n\tstp x26, x27, [%0, 208]\n\tstp x28, x29, [%0, 224]\n\t"
      "mov x9, sp\n\tadr x10, 0f\n0:\n\tstp x30, x9, [%0, 240]\n\tstr x10, [%1]"
      :
      : "r"(f.reg), "r"(&f.pc)
      : "x9", "x10", "memory");
#endif
  f.interrupted = true;  // the pc is of an instruction here
}

}  // namespace

[[gnu::noinline]] void unwind(Unwound& into, std::uint32_t most) noexcept {
  Frame f{};
  capture(f);
  Loaded at = modules.at(reinterpret_cast<const void*>(f.pc));
  constexpr int kMostOfOurs = 16;  // frames of this library: the first ones, and a thread's last
  for (int ours = 0; step(f, at);) {
    const std::uint64_t inside = f.interrupted ? f.pc : f.pc - 1;
    at = modules.at(reinterpret_cast<const void*>(inside));
    if (at.object == modules.own) {
      if (++ours > kMostOfOurs) return;
      continue;
    }
    if (into.count == most) {
      into.cut = true;
      return;
    }
    into.pc[into.count] = f.pc;
    into.pc_at[into.count++] = f.pc_at;
    if (at.object == nullptr) return;  // made at run time: nothing describes it
  }
}

}  // namespace lockswap::profile
