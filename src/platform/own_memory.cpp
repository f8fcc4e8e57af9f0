// The C library's functions on memory, for this library alone. Sanitizers replace them in the whole
// process and check their arguments, but don't see what else this library does: the copies would
// look like races with accesses that nobody checked. Compilers emit calls of them, too.
//
// Must be compiled without builtins and without loop idiom recognition, which would make these
// functions call themselves.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// May be unaligned, and may alias anything.
struct [[gnu::packed, gnu::may_alias]] Word {
  std::uint64_t value;
};

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): glibc's names are reserved.
extern "C" {

[[gnu::visibility("hidden")]] void* memcpy(void* __restrict to, const void* __restrict from,
                                           std::size_t n) noexcept {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  for (; n >= sizeof(Word); n -= sizeof(Word), t += sizeof(Word), f += sizeof(Word))
    reinterpret_cast<Word*>(t)->value = reinterpret_cast<const Word*>(f)->value;
  for (; n != 0; --n)
    *t++ = *f++;
  return to;
}

[[gnu::visibility("hidden")]] void* memmove(void* to, const void* from, std::size_t n) noexcept {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  if (reinterpret_cast<std::uintptr_t>(t) - reinterpret_cast<std::uintptr_t>(f) >= n) {
    for (std::size_t i = 0; i < n; ++i)
      t[i] = f[i];
  } else {
    for (; n != 0; --n)
      t[n - 1] = f[n - 1];
  }
  return to;
}

[[gnu::visibility("hidden")]] void* memset(void* to, int byte, std::size_t n) noexcept {
  auto* t = static_cast<unsigned char*>(to);
  const std::uint64_t all = 0x0101010101010101u * static_cast<unsigned char>(byte);
  for (; n >= sizeof(Word); n -= sizeof(Word), t += sizeof(Word))
    reinterpret_cast<Word*>(t)->value = all;
  for (; n != 0; --n)
    *t++ = static_cast<unsigned char>(byte);
  return to;
}

[[gnu::visibility("hidden")]] int memcmp(const void* one, const void* other,
                                         std::size_t n) noexcept {
  const auto* a = static_cast<const unsigned char*>(one);
  const auto* b = static_cast<const unsigned char*>(other);
  for (std::size_t i = 0; i < n; ++i)
    if (a[i] != b[i]) return a[i] - b[i];
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
