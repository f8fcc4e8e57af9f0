// Suggests existing names for a misspelt one, for messages.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

#include "platform/text.h"

namespace lockswap {

inline constexpr std::size_t kLongestName = 48;  // longer names match none

// Returns the number of insertions, deletions, substitutions and swaps of neighbouring letters that
// turn `a` into `b` (the optimal string alignment distance). Case doesn't count.
inline std::size_t spelled_apart(const char* a, const char* b) noexcept {
  const std::size_t rows = std::strlen(a);
  const std::size_t columns = std::strlen(b);
  if (rows > kLongestName || columns > kLongestName) return std::numeric_limits<std::size_t>::max();
  using Row = std::array<std::size_t, kLongestName + 1>;
  Row before{}, last{}, now{};
  for (std::size_t j = 0; j <= columns; ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= rows; ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= columns; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[columns];
}

// Appends "did you mean NAME, NAME or NAME? Choose one of:", or "choose one of:" if none is near.
// The names are at most three: those nearest to `typed` in spelling, or else those that begin with
// it. `name` returns the name with a number below `count`.
inline void put_nearest(Text& out, const char* typed, int count,
                        const char* (*name)(int)) noexcept {
  const std::size_t most = std::strlen(typed) < 4 ? 1 : 2;
  std::array<const char*, 3> near{};
  std::size_t n = 0;
  for (std::size_t apart = 1; *typed != 0 && apart <= most + 1 && n == 0; ++apart) {
    for (int i = 0; i < count && n < near.size(); ++i) {
      const bool is_near = apart <= most ? spelled_apart(typed, name(i)) == apart
                                         : after_prefix(name(i), typed) != nullptr;
      if (is_near) near[n++] = name(i);
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    out << (i == 0 ? "did you mean " : i + 1 < n ? ", " : " or ") << near[i];
  out << (n != 0 ? "? Choose" : "choose") << " one of:";
}

}  // namespace lockswap
