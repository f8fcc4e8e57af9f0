#include "multicore/fiber.h"

#if !defined(__x86_64__)
#error "fibers are written for x86-64"
#endif

asm(R"(
.text
.globl lockswap_fiber_switch
.type lockswap_fiber_switch,@function
lockswap_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lockswap_fiber_switch, .-lockswap_fiber_switch
)");
