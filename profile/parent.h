// The locks that threads held when this process was forked. In its memory they are taken, and of
// those threads it has only the one that forked, under another number.
#pragma once

namespace lockswap::profile {

// When a file is opened, by the process itself.
void note_whose_file() noexcept;
// Called in a forked child, while the file that is mapped is still an ancestor's.
void keep_holds_of_parent() noexcept;
// When the child has a file of its own.
void write_holds_of_parent() noexcept;
// The child has released the lock, or made another one there.
void forget_hold_of_parent(const void* lock) noexcept;

}  // namespace lockswap::profile
