// The tables for unwinding, which the profile reads inside the program. An input is 8 bytes, a
// program counter relative to the header, and an .eh_frame_hdr with what lies behind it.
#include "recording/cfi.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

using namespace lockswap::recording;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int64_t relative = 0;
  if (size < sizeof relative) return 0;
  std::memcpy(&relative, data, sizeof relative);
  size -= sizeof relative;
  // Nothing lies behind either, which a sanitizer sees.
  const std::unique_ptr<std::uint8_t[]> tables(new std::uint8_t[size]);
  std::memcpy(tables.get(), data + sizeof relative, size);
  const auto begin = reinterpret_cast<std::uintptr_t>(tables.get());
  const Loaded module{.object = tables.get(),
                      .base = begin,
                      .begin = begin,
                      .end = begin + size,
                      .path = "",
                      .unwinding = tables.get()};
  constexpr std::size_t kWords = 128;
  const std::unique_ptr<std::uint64_t[]> stack(new std::uint64_t[kWords]);
  const auto bottom = reinterpret_cast<std::uint64_t>(stack.get());
  Frame frame{};
  frame.pc = begin + static_cast<std::uint64_t>(relative);
  frame.stack_end = bottom + kWords * sizeof stack[0];
  for (std::size_t i = 0; i < kWords; ++i)
    stack[i] = i % 3 != 0 ? frame.pc + 1 : bottom + (i * 24) % (kWords * 8);
  for (std::uint32_t r = 0; r < kRegisters; ++r)
    frame.reg[r] = bottom + 128 + 16 * r;
  frame.reg[kStackRegister] = bottom + 128;
  frame.interrupted = true;
  for (int steps = 0; steps < 32 && step(frame, module); ++steps) {
    // Where a signal came, the kernel's word for the stack is taken; here it is none.
    if (frame.interrupted || frame.reg[kStackRegister] < bottom + 128) break;
  }
  return 0;
}
