/* A program of somebody else: one section of Read-Log-Update through an installed library. */
#include <lockswap/rlu.h>
#include <stdio.h>

int main(void) {
  void* object = lockswap_rlu_alloc(1);
  lockswap_rlu_reader_lock();
  if (object == NULL || lockswap_rlu_dereference(object) != object) return 1;
  lockswap_rlu_reader_unlock();
  return puts("read") < 0;
}
