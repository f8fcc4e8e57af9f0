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

  // Calls f under the lock, and checks that nobody else was in. `watch` times the acquisition.
  template <class Watch, class F>
  [[gnu::always_inline]] void alone(Watch& watch, typename Lock::Seat& seat, const F& f) {
    watch.write([&] { lock.lock(seat); });
    begin_write();
    f();
    end_write();
    lock.unlock(seat);
  }
  // The same for a reader, in with others like it.
  template <class Watch, class F>
  [[gnu::always_inline]] void together(Watch& watch, typename Lock::Seat& seat, const F& f) {
    watch.read([&] { lock.lock_shared(seat); });
    check();
    f();
    check();
    lock.unlock_shared(seat);
  }
};

}  // namespace bench
