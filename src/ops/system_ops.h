// glibc's own lock behind the preload, with something in front: counting under LOCKSWAP_STATS, so
// that a program's calls on its own lock can be counted, or writer preference for `pthread-wp`.
#pragma once

#include "platform/system_rwlock.h"

namespace lockswap {

extern const RwOps counting_system_ops;
extern const RwOps writer_preferring_ops;
extern const RwOps counting_writer_preferring_ops;

}  // namespace lockswap
