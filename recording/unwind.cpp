#include "recording/unwind.h"

#include <initializer_list>

#include "platform/identity.h"
#include "recording/cfi.h"
#include "recording/modules.h"

// The loader's variable: where the kernel put the process's argument count.
extern "C" void* __libc_stack_end __attribute__((weak));

namespace lockswap::recording {
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
  f.interrupted = true;  // its instruction is in this function
}

// glibc keeps a thread's own data at the end of its stack, but those of the first thread elsewhere.
std::uint64_t end_of_stack_above(std::uint64_t pointer) noexcept {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t first =
      (reinterpret_cast<std::uint64_t>(__libc_stack_end) + kPage) / kPage * kPage;
  const std::uint64_t own = thread_identity();
  std::uint64_t end = 0;
  for (const std::uint64_t one : {first, own}) {
    if (one > pointer && (end == 0 || one < end)) end = one;
  }
  return end;
}

}  // namespace

[[gnu::noinline]] void unwind(Unwound& into, std::uint32_t most) noexcept {
  Frame f{};
  capture(f);
  f.stack_end = end_of_stack_above(f.reg[kStackRegister]);
  Loaded at = modules.at(reinterpret_cast<const void*>(f.pc));
  constexpr int kMostOfOurs = 16;  // this library's frames: the first ones, and a thread's last
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
    if (at.object == nullptr) return;  // made at run time, so nothing describes it
  }
}

}  // namespace lockswap::recording
