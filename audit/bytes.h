// Interprets the bytes of a mutex or rwlock as glibc lays them out. Another process, or lockswap,
// may have written them.
#pragma once

#include <cstdint>
#include <cstring>
#include <pthread.h>

#include "platform/system_rwlock.h"

namespace lockswap::audit {

// Returns whether glibc's word for a holder can be valid: 0, or a thread id in the kernel's range.
constexpr bool is_thread_id(std::int64_t word) noexcept {
  constexpr std::int64_t kMostIds = 1 << 22;
  return 0 <= word && word <= kMostIds;
}

// Bits of __kind of a mutex: the type, and those that attributes add.
inline constexpr int kType = 3, kRobust = 0x10, kInherit = 0x20, kProtect = 0x40, kShared = 0x80;
inline constexpr int kElision = 0x300;  // whether it may be elided
inline constexpr int kDestroyed = -1;
inline constexpr unsigned kOwnerDied = 0x40000000;  // in the lock word of a robust mutex

struct MutexBytes {
  int kind;
  std::int64_t owner;
  unsigned word, count, users;
  std::uint64_t links[2];  // of robust mutexes; glibc uses them for no other

  explicit MutexBytes(const pthread_mutex_t* m) noexcept
      : kind(m->__data.__kind),
        owner(m->__data.__owner),
        word(static_cast<unsigned>(m->__data.__lock)),
        count(m->__data.__count),
        users(m->__data.__nusers) {
    std::memcpy(links, &m->__data.__list, sizeof links);
  }

  // Returns whether no mutex can have these bytes, whatever was done with it.
  bool is_no_mutex() const noexcept {
    constexpr int kBits = kType | kRobust | kInherit | kProtect | kShared | kElision;
    return (kind != kDestroyed && (kind & ~kBits) != 0) || !is_thread_id(owner);
  }
  bool is_robust() const noexcept { return kind != kDestroyed && (kind & kRobust) != 0; }
  bool is_process_shared() const noexcept { return kind != kDestroyed && (kind & kShared) != 0; }
  // Returns whether glibc has not left them: lockswap keeps its contract word where the links are.
  bool are_not_glibcs() const noexcept {
    return is_no_mutex() || (!is_robust() && (links[0] | links[1]) != 0);
  }
  // Returns whether they are as an initialiser leaves them, and as its last user may.
  bool are_fresh() const noexcept { return owner == 0 && (word | count | users) == 0; }
};

// Returns whether no rwlock can have these bytes, whatever was done with it. glibc uses the same
// names on every architecture.
inline bool is_no_rwlock(const pthread_rwlock_t* l) noexcept {
  constexpr unsigned kMostKind = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
  const auto& d = l->__data;
  return d.__pad3 != 0 || d.__pad4 != 0 || d.__pad2 != 0 || d.__flags > kMostKind ||
         (d.__shared != 0 && d.__shared != 1) || !is_thread_id(d.__cur_writer);
}
// Returns whether glibc has not left them: lockswap keeps its contract word in padding.
inline bool is_not_glibcs(const pthread_rwlock_t* l) noexcept {
  std::uint64_t padding = 0;
  std::memcpy(&padding, reinterpret_cast<const char*>(&l->__data.__pad2) - sizeof padding,
              sizeof padding);
  return padding != 0 || is_no_rwlock(l);
}

}  // namespace lockswap::audit
