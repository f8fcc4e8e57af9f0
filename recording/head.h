// The beginning of every recording's file: its kind and version, the process that left it, and the
// modules that its places are in. The rest depends on the kind. A reader accepts the version of its
// own build and the one before.
#pragma once

#include <cstdint>

#include "platform/atomic.h"
#include "recording/place.h"

namespace lockswap::recording {

inline constexpr std::uint32_t kMostModules = 256;

struct Module {
  std::uint64_t object;  // address of the loader's record; identifies it with the path
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
  NativeAtomic<std::uint32_t> ended;  // 1: the process ran exit handlers
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
