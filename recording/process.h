// A recording's data about this process are in memory that the kernel empties in each child
// (MADV_WIPEONFORK, Linux 4.14). So a child, even one of _Fork or clone, finds every guard free and
// every table empty, whatever other threads were doing. fork takes no guard, and no thread waits
// for it. The child opens its own file. A child that shares its parent's memory (vfork,
// posix_spawn) does not count as another process here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <sys/mman.h>

#include "platform/atomic.h"
#include "platform/guard.h"
#include "platform/memory.h"
#include "platform/step_aside.h"
#include "platform/syscall.h"

namespace lockswap::recording {

// The beginning of what the kernel empties.
struct ProcessState {
  NativeAtomic<std::uint32_t> state;  // 0: no thread has come here in this process
  std::uint32_t number;  // 1 in the first process, and one more in each generation of children
  std::uint32_t pid;
  Guard guard;  // for modules and stacks

  static constexpr std::uint32_t kNew = 0, kBeginning = 1, kReady = 2;

  bool is_ready() const noexcept { return state.load(acquire) == kReady; }  // pairs with begin

  // Called by a thread for which is_ready() is false. One such thread calls begin_file(number).
  template <class BeginFile>
  void begin(BeginFile begin_file) noexcept {
    std::uint32_t seen = kNew;
    // relaxed: one thread wins, and the others see what it did through is_ready.
    if (state.compare_exchange(seen, kBeginning, relaxed)) {
      pid = own_id();
      const std::uint32_t next = processes.fetch_add(1, relaxed) + 1;  // relaxed: a number, no more
      begin_file(next);
      number = next;
      state.store(kReady, release);  // pairs with is_ready
    }
    while (!is_ready())
      nap(100'000);  // not a yield: the other thread may have a lower real-time priority
  }

  // Returns whether this was left by a parent, on a kernel that doesn't empty the memory.
  bool is_of_parent() const noexcept {
    return state.load(relaxed) != kNew && pid != own_id();  // relaxed: fork handed on both
  }

 private:
  static std::uint32_t own_id() noexcept {
    return static_cast<std::uint32_t>(raw_syscall(SYS_getpid));
  }

  // The generations: this process and its ancestors.
  inline static constinit NativeAtomic<std::uint32_t> processes{0};
};

// Maps memory that begins with a ProcessState. Returns nullptr if there is none.
template <class World>
World* map_world() noexcept {
  void* const p = map_pages(sizeof(World));
  if (p == nullptr) return nullptr;
  raw_syscall(SYS_madvise, reinterpret_cast<long>(p), sizeof(World), MADV_WIPEONFORK);
  return static_cast<World*>(p);
}
// Called in a forked child.
template <class World>
void empty_if_of_parent(World& world) noexcept {
  if (world.is_of_parent()) std::memset(static_cast<void*>(&world), 0, sizeof world);
}

}  // namespace lockswap::recording
