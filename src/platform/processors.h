// How much of the machine this process really has: the processors that its thread may use, and the
// quota of its cgroup, when it starts.
#pragma once

#include <cstdint>

namespace lockswap {

struct Processors {
  std::uint32_t allowed = 1;         // by the calling thread's affinity
  std::uint64_t quota_percent = ~0;  // of one processor; all ones: there is no quota

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

// At start-up: some tens of microseconds. What the system refuses to say keeps its value in `last`.
// The quota is the smallest among the process's own cgroup and those above it, as far as they can
// be seen from here, under version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`). It allocates
// nothing, leaves errno alone, and is async-signal-safe.
// `root` is for tests: the folder in which /proc and /sys/fs/cgroup are.
Processors read_processors(const Processors& last, const char* root = "") noexcept;

// The same, read once: by one thread, at start-up.
const Processors& processors_at_start() noexcept;

}  // namespace lockswap
