// A lock of any type with the data that it protects, on one cache line if there is room.
#pragma once

#include <cstdint>

#include "common/lock.h"
#include "common/witness.h"

namespace bench {

// The line is 64 bytes; 128 keep the neighbour, which processors fetch along, free of others.
template <Lockable Lock>
struct alignas(128) GuardedBy : Witness<std::uint32_t> {
  Lock lock;
};

}  // namespace bench
