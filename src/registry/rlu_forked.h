#pragma once

namespace lockswap {

// In a forked child, by the one thread that is left, before there are others: the RLU library takes
// its context for a living thread's (rlu/threads.h).
void rlu_forked() noexcept;

}  // namespace lockswap
