// The book after a fork: the child's is empty except for the holds of the thread that forked.
#pragma once

#include "audit/me.h"

namespace lockswap::audit {

// Called by fork's handlers. The first one notes which locks are held or waited for, and saves the
// thread's own holds.
void before_fork() noexcept;
void after_fork_in_parent() noexcept;
void after_fork_in_child() noexcept;

// Returns whether glibc's word for a lock's holder names a thread of the parent that does not exist
// here. Returns false for a thread of this process that has ended.
bool is_of_parent(const Me& m, std::uint32_t holder) noexcept;

// Called in the child. Puts the saved holds back into the book.
void restore_holds(Me& m) noexcept;

}  // namespace lockswap::audit
