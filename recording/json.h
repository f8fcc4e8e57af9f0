// Text in the JSON that readers of recordings print.
#pragma once

#include <cstddef>
#include <cstdio>

namespace lockswap::recording {

// Returns the length of the UTF-8 sequence at `s`, or 0 if there is none.
inline std::size_t utf8_length(const unsigned char* s, std::size_t size) noexcept {
  const std::size_t n = s[0] < 0x80                   ? 1
                        : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                        : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                        : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                      : 0;
  if (n == 0 || n > size) return 0;
  for (std::size_t i = 1; i < n; ++i) {
    if (s[i] >> 6 != 2) return 0;
  }
  // Overlong, a surrogate, or beyond Unicode.
  const bool is_wrong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
                        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90);
  return is_wrong ? 0 : n;
}

// Prints an array of a record, which may lack its terminator. Replaces bytes that aren't UTF-8.
template <std::size_t kSize>
void put_json_string(const char (&array)[kSize]) {
  const auto* s = reinterpret_cast<const unsigned char*>(array);
  std::size_t size = 0;
  while (size < kSize && s[size] != 0)
    ++size;
  std::putchar('"');
  for (std::size_t at = 0, n = 0; at < size; at += n == 0 ? 1 : n) {
    n = utf8_length(s + at, size - at);
    if (n == 0) {
      std::printf("\\ufffd");
    } else if (s[at] < 0x20) {
      std::printf("\\u%04x", s[at]);
    } else {
      if (s[at] == '"' || s[at] == '\\') std::putchar('\\');
      std::fwrite(s + at, 1, n, stdout);
    }
  }
  std::putchar('"');
}

}  // namespace lockswap::recording
