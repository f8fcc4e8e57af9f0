// Does this glibc leave alone the bytes of a pthread_rwlock_t that a combinator over glibc's own
// lock (bravo-pthread) keeps its words in?
#pragma once

namespace lockswap {

bool glibc_leaves_our_bytes_alone() noexcept;

}  // namespace lockswap
