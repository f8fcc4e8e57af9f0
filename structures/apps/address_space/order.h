// What the steps of a trace wait for, found as they are read in order.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "address_space/trace.h"

namespace bench {

class Order {
 public:
  // Where the thread's next step, in pages [start, end), stands. Operations are numbered from 1.
  struct Place {
    std::vector<Wait> waits;
    std::uint64_t number;
    std::uint64_t oldest;  // faults: since when the page has been what it is
  };
  Place operation(std::uint32_t thread, std::uint64_t start, std::uint64_t end, bool empties);
  // One page.
  Place fault(std::uint32_t thread, std::uint64_t page);
  void begin(std::uint32_t parent, std::uint32_t child);
  void end(std::uint32_t thread);
  void free_step(std::uint32_t thread, std::vector<Wait>& waits) { take(thread, waits); }

 private:
  struct Run {
    std::uint64_t end;
    Wait operation{0, 0};       // the last one; 0 steps: none
    std::vector<Wait> faults;   // since then, of each thread the last
    std::uint64_t number = 0;   // of the operation
    std::uint64_t emptied = 0;  // the number of the last one that took frames away
  };
  struct Thread {
    std::uint64_t steps = 0;
    std::vector<std::uint64_t>
        known;                // that each other thread has done so many, as this one goes on
    std::vector<Wait> first;  // before its first step
  };
  void cut(std::uint64_t at);
  void fill(std::uint64_t start, std::uint64_t end);  // so that each page is in a run
  // Counts the step, and leaves of its waits those that no earlier one implies.
  void take(std::uint32_t thread, std::vector<Wait>& waits);
  Thread& of(std::uint32_t thread);

  std::map<std::uint64_t, Run> runs_;  // by their starts
  std::vector<Thread> threads_;
  std::vector<Wait> ended_;
  std::uint64_t number_ = 0;
};

}  // namespace bench
