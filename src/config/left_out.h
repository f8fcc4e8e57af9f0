// The locks that this build leaves out (LOCKSWAP_WITHOUT, from its configuration), and how to do
// without them.
#pragma once

#include <initializer_list>

#include "platform/text.h"

namespace lockswap {

// Their names, followed by nullptr.
inline constexpr const char* kLeftOut[] = {
#define LEFT_OUT(name) name,
#include "config/left_out.def"
#undef LEFT_OUT
    nullptr};

constexpr bool is_left_out(const char* name) noexcept {
  for (const char* const* left_out = kLeftOut; *left_out != nullptr; ++left_out) {
    if (same_name(*left_out, name)) return true;
  }
  return false;
}

// Returns the first of the names that this build has, or the last one if it has none.
constexpr const char* first_built(std::initializer_list<const char*> names) noexcept {
  const char* found = nullptr;
  for (const char* name : names) {
    found = name;
    if (!is_left_out(name)) break;
  }
  return found;
}

inline constexpr const char* kWhyLeftOut = "was left out of this build (LOCKSWAP_WITHOUT)";

}  // namespace lockswap
