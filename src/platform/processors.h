// How much of the machine this process really has: the processors that its threads may use, and the
// quota of its cgroup. Both are read at start-up, and again now and then (rereading.h).
#pragma once

#include <cstdint>

#include "platform/quota.h"

namespace lockswap {

struct Processors {
  std::uint32_t allowed = 1;               // by affinity
  std::uint64_t quota_percent = kNoQuota;  // of one processor

  bool operator==(const Processors&) const = default;

  // Processors that run at the same time for as long as they like; a part of one counts as none.
  constexpr std::uint32_t whole() const noexcept {
    const std::uint64_t by_quota = quota_percent / 100;
    return by_quota < allowed ? static_cast<std::uint32_t>(by_quota) : allowed;
  }
};

// Spinning can bring something only while the holder runs on another processor.
constexpr std::uint32_t worth_spinning(std::uint32_t pauses, const Processors& p) noexcept {
  return p.whole() < 2 ? 0 : pauses;
}

// Where the threads that have asked may run. Threads may be bound to one processor each, so what
// counts is what the last few of them may use together. The kernel says it of one thread.
class Affinity {
 public:
  static constexpr std::uint32_t kWindow = 8;

  // Returns how many processors the calling thread and those that asked before may use together: at
  // least the last kWindow of them, at most twice as many. Returns `last` if the system refuses to
  // say.
  std::uint32_t together(std::uint32_t last) noexcept;
  // The same for the calling thread alone; forgets what was found before.
  std::uint32_t alone(std::uint32_t last) noexcept;

 private:
  static constexpr std::uint32_t kWords = 8192 / 64;
  std::uint64_t now_[kWords] = {};
  std::uint64_t before_[kWords] = {};
  std::uint32_t asked_ = 0;
};

// At start-up; takes some tens of microseconds. What the system refuses to say is as in `last`.
// It allocates nothing, leaves errno alone, and is async-signal-safe. `root` is as for read_quota.
Processors read_processors(const Processors& last, const char* root = "",
                           KeptQuota* keeps = nullptr) noexcept;

// The same, read once: by one thread, at start-up. It keeps the files of the quota, unless nothing
// is to be read again.
const Processors& processors_at_start(bool again) noexcept;

// What has changed since: a microsecond or two, and no file is opened. One thread calls it at a
// time.
Processors processors_again(const Processors& last) noexcept;

}  // namespace lockswap
