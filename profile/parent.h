// The locks that threads held when this process was forked. They are locked in its memory, but of
// those threads only the one that forked exists here, with another id.
#pragma once

namespace lockswap::profile {

// Called when the process itself opens a file.
void note_whose_file() noexcept;
// Called in a forked child, while an ancestor's file is still mapped.
void keep_holds_of_parent() noexcept;
// Called when the child has its own file.
void write_holds_of_parent() noexcept;
// Called when the child has released the lock, or has made another one there.
void forget_hold_of_parent(const void* lock) noexcept;

}  // namespace lockswap::profile
