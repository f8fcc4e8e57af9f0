// lockswap-model: the shipped locks on a modelled machine (session.h).
#include "predict/session.h"

int main() {
  lockswap::predict::serve(lockswap::predict::all_locks(), lockswap::predict::all_range_locks());
  return 0;
}
