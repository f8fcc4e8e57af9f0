// Call frame information as in .eh_frame (DWARF 5, section 6.4; Linux Standard Base, "Exception
// Frames"): computes the state of a function's caller from its own.
#pragma once

#include <cstdint>

#include "recording/modules.h"

namespace lockswap::recording {

#if defined(__x86_64__)
inline constexpr std::uint32_t kRegisters = 17;  // in DWARF's numbering; the last one is the pc
inline constexpr std::uint32_t kFrameRegister = 6, kStackRegister = 7, kReturnColumn = 16;
#elif defined(__aarch64__)
inline constexpr std::uint32_t kRegisters = 32;
inline constexpr std::uint32_t kFrameRegister = 29, kStackRegister = 31, kReturnColumn = 30;
#endif

struct Frame {
  std::uint64_t reg[kRegisters];
  std::uint64_t pc;
  std::uint64_t pc_at;      // where the pc was read from; 0: a register
  std::uint64_t stack_end;  // nothing is read from here on; 0: unknown
  bool interrupted;         // by a signal: the pc's instruction has not run
};

// Replaces the frame by its caller's. Returns false if it is the outermost one, or unknown. Reads
// tables only inside the module, and the stack only above the frame, so damaged tables can only
// give a wrong caller or none.
bool step(Frame& frame, const Loaded& module) noexcept;

}  // namespace lockswap::recording
