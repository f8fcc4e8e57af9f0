// The order of BRAVO's revocation scan (scan.h), which each platform has with its own fences and
// loads. So the model checker explores the fences that the library has.
#pragma once

#include <cstddef>

#include "platform/atomic.h"

namespace lockswap {

// find(from) returns the first of the `n` slots, at or after `from`, that contains the key, or `n`.
// on_hit(index) returns whether to go on. Returns true if it always did.
template <class Fence, class Find, class OnHit>
bool scan_between_fences(std::size_t n, const Fence& fence, const Find& find, OnHit on_hit) {
  // seq_cst: pairs with the compare-exchange by which a reader fills its slot, and its load of the
  // bias after that. Either the scan finds the slot, or that reader sees the bias revoked.
  fence(seq_cst);
  bool all = true;
  for (std::size_t i = 0; all && (i = find(i)) < n; ++i)
    all = on_hit(i);
  // acquire: pairs with the releases by which readers cleared the slots that were read as free.
  fence(acquire);
  return all;
}

}  // namespace lockswap
