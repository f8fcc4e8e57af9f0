// A planted fault, which learning layouts prevents: replaces object_layout.cpp and assumes, without
// looking, that condition variables have their flags at byte ASSUMED.
#include "platform/object_layout.h"

namespace lockswap {

bool learn_mutex_layout() noexcept { return object_layout.mutex_shows_owner = true; }
bool learn_rwlock_layout() noexcept { return true; }
bool learn_cond_layout() noexcept {
  object_layout.cond_flags = ASSUMED == 28 ? CondFlags::at_byte_28 : CondFlags::at_byte_36;
  return true;
}

}  // namespace lockswap
