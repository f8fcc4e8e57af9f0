// What all processes of a program did with mappings of files, as `lockswap trace-vm --processes`
// records it (docs/address-spaces.md).
//
// The file is text, or gzip if its name ends in .gz:
//
//   lockswap-process-trace 1        the first line
//   files N, processes N            both are numbered from 0
//   start P                         a process that shares nothing with another one
//   fork P CHILD                    the child has P's mappings, in their order, with the next
//                                   numbers
//   exec P, end P                   all its mappings are removed
//   map P NUMBER FILE PAGE PAGES    PAGES pages of a file from page PAGE on; NUMBER is the next one
//   unmap P NUMBER
//
// execve maps without a system call, so four mappings of the program and four of the dynamic linker
// stand for it. A call that removes a part of a mapping becomes an unmap, and a map for each part
// that is left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ldu/mapping.h"

namespace bench {

struct ProcessStep {
  enum class Kind : std::uint8_t { start, fork, exec, end, map, unmap };
  Kind kind;
  std::uint32_t process;
  std::uint32_t number = 0;  // of the child, or of the mapping; a child's copies are numbered on
  std::uint32_t file = 0;
  Pages pages{};
};

struct ProcessTrace {
  std::uint32_t files = 0;
  std::uint32_t processes = 0;
  std::uint32_t mappings = 0;
  std::vector<ProcessStep> steps;  // all processes have ended at the last
};

struct ProcessTraceError {
  std::string why;
};

// Also of a file that gzip made. Throws ProcessTraceError.
ProcessTrace read_process_trace(const std::string& file);

}  // namespace bench
