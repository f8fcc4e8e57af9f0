// A recorded program: what each of its threads does, and what each step waits for.
// `lockswap trace-vm` records them (docs/address-spaces.md).
//
// The file is text, or gzip if its name ends in .gz. T is a thread, from 0. PAGE and PAGES are
// hexadecimal, and count pages of 4096 bytes. Lines that begin with # say what was left out.
//
//   lockswap-vm-trace 1                    the first line
//   faults recorded | synthesised          where the touches come from
//   threads N
//   heap PAGE                              where brk begins
//   there PAGE PAGES                       mapped before the first step
//   map T PAGE PAGES rwx                   private memory; `-` for a right that is missing
//   map T PAGE PAGES rwx private FILE OFFSET   a file's pages, also `shared`; FILE is a number,
//                                          OFFSET counts pages
//   unmap T PAGE PAGES, discard T PAGE PAGES   `discard` is MADV_DONTNEED
//   protect T PAGE PAGES rwx
//   brk T PAGE                             the heap ends before this page
//   read T PAGE PAGES, write T PAGE PAGES  a fault in each of these pages
//   fork T
//   begin T CHILD                          the first step of thread CHILD comes after this
//   end T                                  the thread's last step
//
// The file's order is one that the program may have had. What the program relied on is kept:
// an operation comes behind what was done before in its pages, and behind operations in those on
// each side, since with them it makes one region or two; a fault comes behind the operations in its
// page. Faults wait for no fault.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "address_space/own.h"
#include "address_space/program.h"

namespace bench {

// Until that thread has done so many of its steps.
struct Wait {
  std::uint32_t thread;
  std::uint64_t steps;
};

struct TracedStep {
  Step step;
  std::vector<Wait> waits;
  // What a write writes, and what a read may find: a value from `oldest` on, or that of a page that
  // nobody has written. The number of the last operation there, so all that write beside each other
  // write the same. 0: another region may write the file, so it may find anything.
  std::uint64_t value = 0, oldest = 0;
};

struct Trace {
  std::uint64_t heap = 0;
  bool synthesised = false;
  int files = 0;
  std::vector<Step> there;  // mapped before the first step
  std::vector<std::vector<TracedStep>> threads;
  Own own{0};                   // after all steps in order
  std::vector<bool> is_shared;  // of each file: a region shares it
  std::uint64_t faults = 0, changes = 0;
};

inline constexpr std::uint32_t kTraceExecute = 4;  // regions differ by it; nothing else does
inline constexpr std::uint64_t kStamp = 1 << 20;   // values are multiples: no page of a file is one

// Also of a file that gzip made. Throws TraceError.
struct TraceError {
  std::string what;  // begins with FILE:LINE: if it is about a line
};
Trace read_trace(const std::string& file);

}  // namespace bench
