// What `auto` stands for, and why; the only place of the library that prefers locks by their names.
#pragma once

namespace lockswap {

// On one CPU no two threads run at once, so glibc's short paths are the cheapest. On one memory
// node BRAVO spares readers the line that they would share, and its writers keep glibc's sleep. On
// several nodes, writers that stay on a node also spare the way between nodes.
struct AutoChoice {
  const char* one_cpu;
  const char* one_node;
  const char* several_nodes;
};
inline constexpr AutoChoice kAutoRwlock{"pthread", "bravo-pthread", "bravo-cohort"};
inline constexpr AutoChoice kAutoMutex{"pthread", "pthread", "cohort"};
// The range lock of programs that name none: readers share, and few ranges are held at once.
inline constexpr const char* kDefaultRange = "list-rw";
// The smallest lock of ours, for a glibc that uses the bytes which BRAVO would need beside it.
inline constexpr const char* kAutoBesideNoGlibc = "bravo-pf-t";

}  // namespace lockswap
