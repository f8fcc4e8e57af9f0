// Where this process's C library keeps what it stores in mutexes, reader-writer locks and condition
// variables.
//
// The library that a program runs on need not be the one that this library was built with, and
// glibc moves fields: the flags of a pthread_cond_t lay at byte 36 up to 2.40, and lie at byte 28
// since 2.41 (and in older versions to which distributions ported that change back). So the answer
// comes from experiments at start-up: objects are initialised by glibc's own functions with various
// attributes, and the bytes that these wrote are examined. Version numbers play no part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pthread.h>

namespace lockswap {

// The flags of a pthread_cond_t, and where they are. Only glibc's init sets them.
inline constexpr unsigned kCondIsShared = 1, kCondIsMonotonic = 2;
enum class CondFlags : std::uint8_t { at_byte_36, at_byte_28 };
constexpr std::size_t byte_of(CondFlags flags) noexcept {
  return flags == CondFlags::at_byte_28 ? 28 : 36;
}
inline unsigned flags_in(const pthread_cond_t* c, CondFlags flags) noexcept {
  unsigned word;
  std::memcpy(&word, reinterpret_cast<const unsigned char*>(c) + byte_of(flags), sizeof word);
  return word;
}

// What an experiment found that this library can't cope with, as the end of a sentence that begins
// with "glibc's". Empty if the layout is a known one, or has not been examined.
struct Misfit {
  char why[120];
  bool found() const noexcept { return why[0] != 0; }
};

struct ObjectLayout {
  Misfit rwlock;
  Misfit mutex;
  Misfit cond;
  CondFlags cond_flags;    // if the layout of condition variables is known
  bool mutex_shows_owner;  // a locked mutex stores the owner's thread id in __owner
};

inline constinit ObjectLayout object_layout{};

// Each fills in its part of object_layout, and returns whether the layout is a known one. Must be
// called at start-up by one thread, which can't be cancelled, when libc_functions is filled in and
// no object of that kind is swapped. They take some microseconds. Their only system calls are
// gettid and the one by which glibc checks for priority inheritance.
bool learn_mutex_layout() noexcept;
bool learn_rwlock_layout() noexcept;
bool learn_cond_layout() noexcept;

}  // namespace lockswap
