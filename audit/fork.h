// What becomes of the book when the process forks: the child's is empty but for the holds of the
// thread that forked.
#pragma once

#include "audit/me.h"

namespace lockswap::audit {

// In fork's handlers. The first notes what is held and waited for, and saves the thread's own
// holds.
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;

// Returns whether glibc's word for a lock's holder names a thread that this process doesn't have,
// but its parent did. A thread of this process that has ended is none to be asked for.
bool is_of_parent(const Me& m, std::uint32_t holder) noexcept;

// Called in the child. Enters what the thread saved into the book again.
void restore_holds(Me& m) noexcept;

}  // namespace lockswap::audit
