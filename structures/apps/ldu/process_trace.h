// What all processes of a program did with mappings of files, as `lockswap trace-vm --processes`
// records it; docs/address-spaces.md describes the file.
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
