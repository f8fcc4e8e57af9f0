// Text without malloc, stdio or locale, none of which a preloaded library may use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockswap {

// Appends to a fixed buffer, which is always terminated. Cuts off what does not fit.
class Text {
 public:
  constexpr Text(char* buffer, std::size_t size) noexcept : at_(buffer), end_(buffer + size - 1) {
    *at_ = 0;
  }

  constexpr Text& operator<<(const char* s) noexcept {
    while (*s != 0 && at_ < end_)
      *at_++ = *s++;
    *at_ = 0;
    return *this;
  }
  constexpr Text& operator<<(std::uint64_t n) noexcept {
    char digits[21];
    char* d = digits + 20;
    *d = 0;
    do {
      *--d = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n != 0);
    return *this << d;
  }
  constexpr Text& hex(std::uint64_t n) noexcept {
    char digits[19];
    char* d = digits + 18;
    *d = 0;
    do {
      *--d = "0123456789abcdef"[n % 16];
      n /= 16;
    } while (n != 0);
    return *this << "0x" << d;
  }

 private:
  char* at_;
  char* end_;
};

constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool same_name(const char* a, const char* b) noexcept {
  for (; *a != 0 && lower(*a) == lower(*b); ++a, ++b) {}
  return lower(*a) == lower(*b);
}

// Returns what follows `prefix` in s, or nullptr if s begins otherwise. Compares like same_name.
constexpr const char* after_prefix(const char* s, const char* prefix) noexcept {
  for (; *prefix != 0; ++s, ++prefix) {
    if (lower(*s) != lower(*prefix)) return nullptr;
  }
  return s;
}

}  // namespace lockswap
