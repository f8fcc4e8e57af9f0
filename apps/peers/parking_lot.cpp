// parking_lot's locks, by the functions of parking_lot/src/lib.rs. The calls are not inlined, which
// costs them a nanosecond or two that a program in Rust doesn't pay.
#include <cstdint>

#include "works.h"

extern "C" {
extern const std::size_t peer_rwlock_bytes;
extern const std::size_t peer_mutex_bytes;
extern const std::size_t peer_condition_bytes;

void peer_rwlock_init(void* lock);
void peer_rwlock_lock(void* lock);
void peer_rwlock_unlock(void* lock);
void peer_rwlock_lock_shared(void* lock);
void peer_rwlock_unlock_shared(void* lock);

void peer_mutex_init(void* mutex);
void peer_mutex_lock(void* mutex);
void peer_mutex_unlock(void* mutex);

void peer_condition_init(void* condition);
void peer_condition_wait(void* condition, void* mutex);
void peer_condition_signal(void* condition);
void peer_condition_broadcast(void* condition);
}

namespace peers {
namespace {

// Memory for an object of Rust, as large as `bytes` says.
template <class Word>
struct Room {
  Room(std::size_t bytes, void (*init)(void*)) {
    if (bytes != sizeof word) bench::wrong_result("parking_lot has other sizes than this program");
    init(&word);
  }
  Word word{};
};

constexpr Promises kOfParkingLot{.sleeps = true, .timed = true};

struct Rwlock {
  static constexpr const char* kName = "parking-lot";
  static constexpr const char* kType = "parking_lot::RawRwLock";
  static constexpr Promises kPromises = kOfParkingLot;
  using Seat = bench::NoSeat;
  Room<std::uintptr_t> own{peer_rwlock_bytes, peer_rwlock_init};

  void lock(Seat&) { peer_rwlock_lock(&own); }
  void unlock(Seat&) { peer_rwlock_unlock(&own); }
  void lock_shared(Seat&) { peer_rwlock_lock_shared(&own); }
  void unlock_shared(Seat&) { peer_rwlock_unlock_shared(&own); }
};

struct Mutex {
  static constexpr const char* kName = "parking-lot";
  static constexpr const char* kType = "parking_lot::RawMutex";
  static constexpr Promises kPromises = kOfParkingLot;
  using Seat = bench::NoSeat;
  Room<std::uint8_t> own{peer_mutex_bytes, peer_mutex_init};

  void lock(Seat&) { peer_mutex_lock(&own); }
  void unlock(Seat&) { peer_mutex_unlock(&own); }

  struct Condition {
    Room<std::uintptr_t> own{peer_condition_bytes, peer_condition_init};

    void wait(Mutex& mutex, Seat&) { peer_condition_wait(&own, &mutex.own); }
    void signal() { peer_condition_signal(&own); }
    void broadcast() { peer_condition_broadcast(&own); }
  };
};

const Registered<Rwlock, Mutex> registered;

}  // namespace
}  // namespace peers
