// Looks at each instruction of a piece of code, by the processor's trap flag.
#pragma once

#if defined(__x86_64__)

#include <csignal>
#include <cstdint>

#include <sys/ucontext.h>

namespace stepping {

inline constexpr bool kWorks = true;
inline constexpr long kTrapFlag = 0x100;

// Called before each instruction but the first one, as from a signal handler: which one it is, and
// where it lies. Returns false if the rest is to run without it.
inline bool (*before)(long number, const unsigned char* code);
inline volatile long number;

// Counts them, too. (Around the red zone.)
[[gnu::always_inline]] inline void begin() {
  number = 0;
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}
[[gnu::always_inline]] inline void end() {
  asm volatile(
      "lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq; lea 128(%%rsp), %%rsp" ::
          : "memory", "cc");
}

inline void on_trap(int, siginfo_t*, void* context) {
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  number = number + 1;
  if (!before(number, code)) registers[REG_EFL] &= ~kTrapFlag;
}
inline void prepare() {
  struct sigaction action {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGTRAP, &action, nullptr);
}

// An update that is atomic to other processors: one with the `lock` prefix, or an exchange with
// memory, which has no need of it.
inline bool is_atomic_update(const unsigned char* code) {
  constexpr unsigned char kLock = 0xf0, kSixteenBits = 0x66, kExchange = 0x87, kExchangeByte = 0x86;
  if (*code == kLock) return true;
  if (*code == kSixteenBits) ++code;
  if ((*code & 0xf0) == 0x40) ++code;  // REX
  return (*code == kExchange || *code == kExchangeByte) && code[1] >> 6 != 3;
}

}  // namespace stepping

#else

namespace stepping {
inline constexpr bool kWorks = false;
inline bool (*before)(long number, const unsigned char* code);
inline long number;
inline void begin() {}
inline void end() {}
inline void prepare() {}
inline bool is_atomic_update(const unsigned char*) { return false; }
}  // namespace stepping

#endif
