/* The header is C: a lock from its initialiser, and one acquisition. */
#include "lockswap/range_lock.h"

int api_in_c(void);

int api_in_c(void) {
  static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  lockswap_range range;
  const int error = lockswap_range_acquire(&lock, &range, 0, 10, LOCKSWAP_RANGE_EXCLUSIVE);
  return error != 0 ? error : lockswap_range_release(&range);
}
