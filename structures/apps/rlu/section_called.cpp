#include "rlu/section_called.h"

#undef _LGPL_SOURCE  // so these are calls
#include <urcu/urcu-memb.h>

namespace bench {

void memb_called(std::uint64_t pairs) {
  for (std::uint64_t i = 0; i < pairs; ++i) {
    urcu_memb_read_lock();
    urcu_memb_read_unlock();
  }
}

}  // namespace bench
