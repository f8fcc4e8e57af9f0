// Finds the loaded file that an address is in. interpose provides this, because it can do so
// without the loader's lock.
#pragma once

#include <cstdint>

namespace lockswap::recording {

struct Loaded {
  const void* object = nullptr;  // the loader's record of it; nullptr if there is none
  std::uintptr_t base = 0;       // difference to the addresses in the file's own tables
  std::uintptr_t begin = 0, end = 0;
  const char* path = nullptr;       // "": the program
  const void* unwinding = nullptr;  // its .eh_frame_hdr; nullptr if unknown
};

struct BuildId {
  const void* bytes = nullptr;
  std::uint32_t size = 0;  // 0: there is none
};

struct ModuleFunctions {
  Loaded (*at)(const void* address) noexcept;
  BuildId (*build_id)(const Loaded& module) noexcept;
  const void* own;  // this library's record
};
inline constinit ModuleFunctions modules{};

}  // namespace lockswap::recording
