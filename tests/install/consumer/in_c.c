/* A program of somebody else: one acquisition through an installed lockswap. */
#include <lockswap/range_lock.h>
#include <stdio.h>

int main(void) {
  static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  lockswap_range range;
  if (lockswap_range_acquire(&lock, &range, 0, 10, LOCKSWAP_RANGE_EXCLUSIVE) != 0) return 1;
  if (lockswap_range_release(&range) != 0) return 1;
  return puts("acquired") < 0;
}
