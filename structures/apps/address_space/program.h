// What the threads of `address_space` do: programs, which give steps. They know no engine, and the
// same number gives the same steps, so what a thread has done can be done over again.
//
// A thread has pages of its own, from arena_of(number) on; no other thread changes what is there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

inline constexpr std::uint64_t kArenaPages = std::uint64_t{1} << 24;
inline constexpr std::uint64_t arena_of(int number) {
  return (static_cast<std::uint64_t>(number) + 1) * kArenaPages;
}
// What the thread allocates begins here; the first thread's is the heap, which brk moves.
inline constexpr std::uint64_t tables_of(int number) { return arena_of(number) + (1 << 20); }

// A range of pages, and what becomes of it.
struct Step {
  enum Kind : std::uint8_t {
    map,
    unmap,
    protect,
    discard,
    brk,    // the heap's end is `end`
    write,  // each page
    read,
    visit,  // read pages of another thread, which may not be there
    rest,   // until the steps since the last rest were so much of the time: `share`
    fork,   // a child, which ends at once
  } kind;
  std::uint64_t start = 0, end = 0;
  std::uint32_t protection = 0;
  int file = -1;  // map: a file's number, of the thread's or the trace's; -1: memory
  bool shared = false;
  bool stack = false;      // map: it grows downwards; write: so it does here
  std::uint64_t base = 0;  // page p shows page p - base of the file
  double share = 0;
};
using Steps = std::vector<Step>;

class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;
  // Appends the next steps, of 1 to 100 us together where that is possible.
  virtual void next(Steps& steps) = 0;
};

struct Work {
  std::string workload;
  std::string memory;  // where allocations of wc, wr and wrmem come from: arenas, segments
  int threads = 2;
  std::uint64_t pages = 0;  // the size of what is mapped at once
  double mapping = 0;       // isolated: the share of time in map and unmap
  bool large_pages = false;
};

const std::vector<std::string>& workloads();
std::unique_ptr<Program> program_of(const Work& work, int number);

}  // namespace bench
