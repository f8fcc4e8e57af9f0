// What the machine looks like (CPUs, memory nodes, hardware threads of a core), and where the
// calling thread runs.
//
// It is read once, at start-up, and only if the chosen lock needs it. A CPU that is plugged in
// later, or a thread that may no longer run where it did, does no harm: `cpus` counts all that
// there can ever be, and locks use a thread's place only as a hint.
//
// Where a thread runs is in the area that glibc (2.35 or newer) shares with the kernel for
// restartable sequences, so it takes one load. Without that area, it takes a call of getcpu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sched.h>

#include "platform/atomic.h"
#include "platform/thread.h"

namespace lockswap {

inline constexpr std::uint32_t kMostCpus = 8192;   // Linux on x86-64 can have no more
inline constexpr std::uint32_t kMostNodes = 1024;  // nor more nodes

struct Topology {
  std::uint32_t cpus = 1;     // ids of CPUs are below this
  std::uint32_t online = 1;   // CPUs that were online when it was read
  std::uint32_t allowed = 1;  // CPUs that the thread which read it may use
  std::uint32_t nodes = 1;    // nodes that have CPUs; numbered from 0 without gaps
  std::uint32_t smt = 1;      // hardware threads of a core (of the first one)
};

inline constinit Topology topology{};

// How to find a variable of libc by its name, before the topology is read. nullptr means dlsym,
// which takes the loader lock.
using FindInLibc = void* (*)(const char* name);
inline constinit FindInLibc find_in_libc = nullptr;

// LOCKSWAP_TOPOLOGY: nodes x cores of a node x threads of a core.
struct Pretence {
  std::uint32_t nodes = 0;  // 0: nothing is pretended, so ask the system
  std::uint32_t cores = 0;
  std::uint32_t smt = 0;

  bool operator==(const Pretence&) const = default;
  // Returns whether there are not more than there can be. Products do not overflow.
  constexpr bool valid() const noexcept {
    return nodes - 1 < kMostNodes && cores - 1 < kMostCpus && smt - 1 < kMostCpus &&
           std::uint64_t{nodes} * cores * smt <= kMostCpus;
  }
};

// Called at start-up, by one thread. What cannot be read counts as 1, except for CPUs, which count
// as many as the thread may use. `root` is for tests. Allocates nothing. Takes a hundred
// microseconds on a machine with 72 CPUs.
void read_topology(Pretence pretence = {}, const char* root = "/sys/devices/system") noexcept;

// --- where the calling thread runs, which may be outdated at once

// Bytes from the thread pointer to the kernel's cpu_id; 0 if there is none, or not to be used.
inline constinit std::ptrdiff_t cpu_id_offset = 0;
inline constinit std::uint16_t node_of_cpu[kMostCpus] = {};

// There may be more pretended CPUs than real ones, so threads are assigned to them round robin.
inline constinit bool threads_stand_still = false;

[[gnu::noinline]] inline std::uint32_t ask_current_cpu() noexcept {
  if (threads_stand_still) {
    struct Standing {
      std::uint32_t place;  // plus one, or 0 if not assigned yet
    };
    static constinit NativeAtomic<std::uint32_t> next{0};
    std::uint32_t& place = per_thread<Standing>.place;
    if (place == 0) place = next.fetch_add(1, relaxed) % topology.cpus + 1;  // relaxed: a count
    return place - 1;
  }
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu) % topology.cpus;
}

// Returns a number from 0 to topology.cpus - 1.
inline std::uint32_t current_cpu() noexcept {
  if (cpu_id_offset != 0) [[likely]] {
    std::uint32_t cpu;
#if defined(__x86_64__)
    asm volatile("movl %%fs:(%1), %0" : "=r"(cpu) : "r"(cpu_id_offset));
#else
    cpu = __atomic_load_n(reinterpret_cast<std::uint32_t*>(
                              static_cast<char*>(__builtin_thread_pointer()) + cpu_id_offset),
                          __ATOMIC_RELAXED);  // relaxed: the kernel writes it, on this CPU
#endif
    // A negative number means that this thread is not registered.
    if (cpu < topology.cpus) [[likely]]
      return cpu;
  }
  return ask_current_cpu();
}

// Returns a number from 0 to topology.nodes - 1.
inline std::uint32_t current_node() noexcept {
  return topology.nodes == 1 ? 0 : node_of_cpu[current_cpu()];
}

}  // namespace lockswap
