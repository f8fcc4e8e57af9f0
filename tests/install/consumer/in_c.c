/* A program of somebody else: one acquisition and one section through an installed lockswap. */
#include <lockswap/range_lock.h>
#include <lockswap/rlu.h>
#include <stdio.h>

int main(void) {
  static lockswap_range_lock lock = LOCKSWAP_RANGE_LOCK_INITIALIZER;
  lockswap_range range;
  if (lockswap_range_acquire(&lock, &range, 0, 10, LOCKSWAP_RANGE_EXCLUSIVE) != 0) return 1;
  if (lockswap_range_release(&range) != 0) return 1;
  void* object = lockswap_rlu_alloc(1);
  lockswap_rlu_reader_lock();
  if (object == NULL || lockswap_rlu_dereference(object) != object) return 1;
  lockswap_rlu_reader_unlock();
  return puts("acquired") < 0;
}
