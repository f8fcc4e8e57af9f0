// How much of the machine this process may really use: the processors that its threads may run on,
// and the quota of its cgroup. Both are read at start-up, and again now and then (rereading.h).
#pragma once

#include <cstdint>

#include "platform/quota.h"

namespace lockswap {

struct Processors {
  std::uint32_t allowed = 1;               // processors that the affinity allows
  std::uint64_t quota_percent = kNoQuota;  // in percent of one processor

  bool operator==(const Processors&) const = default;

  // Returns how many processors can run all the time; a fraction of one counts as none.
  constexpr std::uint32_t whole() const noexcept {
    const std::uint64_t by_quota = quota_percent / 100;
    return by_quota < allowed ? static_cast<std::uint32_t>(by_quota) : allowed;
  }
};

// Spinning can only help while the holder runs on another processor.
constexpr std::uint32_t worth_spinning(std::uint32_t pauses, const Processors& p) noexcept {
  return p.whole() < 2 ? 0 : pauses;
}

// Where the threads that have asked may run. Threads may be bound to one processor each, so what
// counts is what the last few of them may use together. The kernel tells it for one thread only.
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

// Called at start-up. Takes some tens of microseconds. What the system refuses to say stays as in
// `last`. Allocates nothing, keeps errno, and is async-signal-safe. `root` is as for read_quota.
Processors read_processors(const Processors& last, const char* root = "",
                           KeptQuota* keeps = nullptr) noexcept;

// The same, but read only once, by one thread at start-up. Keeps the files of the quota open if
// `again` says that they are to be read again.
const Processors& processors_at_start(bool again) noexcept;

// Reads what has changed since. Takes a microsecond or two, and opens no file. Must be called by
// one thread at a time.
Processors processors_again(const Processors& last) noexcept;

}  // namespace lockswap
