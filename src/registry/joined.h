// Texts made of others by the compiler.
#pragma once

#include <cstddef>

namespace lockswap {

template <std::size_t kBytes>
struct Joined {
  char text[kBytes] = {};
};

// Called where the compiler evaluates it, this stops the build.
void text_is_too_long();

template <std::size_t kBytes, class... Parts>
constexpr Joined<kBytes> joined(Parts... parts) {
  Joined<kBytes> all;
  std::size_t at = 0;
  const auto append = [&](const char* s) {
    for (; *s != 0; ++s) {
      if (at + 1 == kBytes) text_is_too_long();
      all.text[at++] = *s;
    }
  };
  (append(parts), ...);
  return all;
}

}  // namespace lockswap
