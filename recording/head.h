// What the file of each kind of recording begins with: which kind and version it is, which process
// left it, and the modules that its places are in. The rest is the kind's own. A reader takes the
// version of its own build and the one before.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "recording/place.h"

namespace lockswap::recording {

inline constexpr std::uint32_t kMostModules = 256;

struct Module {
  std::uint64_t object;  // the loader's record, and where it lies: with the path who it is
  std::uint64_t begin;
  std::uint32_t build_id_size;
  std::uint8_t build_id[20];
  char path[256];  // empty: the program
};

struct Head {
  std::uint64_t magic;
  std::uint32_t schema;
  std::uint32_t size;  // of the kind's record, which begins with this
  std::uint32_t pid, parent;
  NativeAtomic<std::uint32_t> ended;  // 1: through exit handlers
  NativeAtomic<std::uint32_t> modules;
  char program[64];
  char exe[512];
  Module module[kMostModules];
};

struct Format {
  std::uint64_t magic;
  std::uint32_t schema;
  std::uint32_t size;
};

}  // namespace lockswap::recording
