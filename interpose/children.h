// Logs child processes that a signal ended, by what the program's own calls of wait and the like
// return. A shell, a build tool or a test runner may ignore such a child.
#pragma once

namespace lockswap {

// From now on, appends a line to the file <prefix>.children for each child that a signal has ended:
// the id of the waiting process, the id of the child (0 if unknown), the signal, and the name of
// the waiting program.
void log_children(const char* prefix) noexcept;

}  // namespace lockswap
