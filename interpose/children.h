// How child processes end, by what the program's own calls of wait and the like return. A shell, a
// build tool or a test runner may pass over a child that a signal ended.
#pragma once

namespace lockswap {

// From now on, each child that a signal has ended is a line of the file <prefix>.children: the
// waiting process's id, the child's (0: not known), the signal, and the waiting program's name.
void log_children(const char* prefix) noexcept;

}  // namespace lockswap
