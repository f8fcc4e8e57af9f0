// Call frame information, as .eh_frame has it (DWARF 5, section 6.4; Linux Standard Base,
// "Exception Frames"): from the state of a function to that of its caller.
#pragma once

#include <cstdint>

#include "recording/modules.h"

namespace lockswap::recording {

#if defined(__x86_64__)
inline constexpr std::uint32_t kRegisters = 17;  // by DWARF's numbers; the last one is the pc
inline constexpr std::uint32_t kFrameRegister = 6, kStackRegister = 7, kReturnColumn = 16;
#elif defined(__aarch64__)
inline constexpr std::uint32_t kRegisters = 32;
inline constexpr std::uint32_t kFrameRegister = 29, kStackRegister = 31, kReturnColumn = 30;
#endif

struct Frame {
  std::uint64_t reg[kRegisters];
  std::uint64_t pc;
  std::uint64_t pc_at;      // where the pc was read from; 0: from a register
  std::uint64_t stack_end;  // nothing is read from there on; 0: not known
  bool interrupted;         // by a signal: the pc is of an instruction that has not run
};

// Makes the frame its caller's. Returns false if it is the outermost one, or nothing is known of
// it. It reads tables only within the module, and the stack only above the frame, so that damaged
// tables give a wrong caller or none.
bool step(Frame& frame, const Loaded& module) noexcept;

}  // namespace lockswap::recording
