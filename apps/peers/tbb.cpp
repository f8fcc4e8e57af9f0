// The reader-writer mutexes of oneTBB.
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include "works.h"

namespace peers {
namespace {

template <class Own>
struct Plain {
  static_assert(!Own::is_recursive_mutex);
  using Seat = bench::NoSeat;
  Own own;

  void lock(Seat&) { own.lock(); }
  void unlock(Seat&) { own.unlock(); }
  void lock_shared(Seat&) { own.lock_shared(); }
  void unlock_shared(Seat&) { own.unlock_shared(); }
};

struct Spin : Plain<tbb::spin_rw_mutex> {
  static constexpr const char* kName = "tbb-spin";
  static constexpr const char* kType = "tbb::spin_rw_mutex";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
};

struct Sleeping : Plain<tbb::rw_mutex> {
  static constexpr const char* kName = "tbb-rw";
  static constexpr const char* kType = "tbb::rw_mutex";
  static constexpr Promises kPromises{.sleeps = true};
};

struct Queuing {
  static constexpr const char* kName = "tbb-queuing";
  static constexpr const char* kType = "tbb::queuing_rw_mutex";
  static constexpr Promises kPromises{};
  static constexpr bool kOnlySpins = true;
  static_assert(!tbb::queuing_rw_mutex::is_recursive_mutex);
  tbb::queuing_rw_mutex own;

  struct Seat {
    explicit Seat(Queuing&) {}
    tbb::queuing_rw_mutex::scoped_lock own;
  };

  void lock(Seat& seat) { seat.own.acquire(own, true); }
  void unlock(Seat& seat) { seat.own.release(); }
  void lock_shared(Seat& seat) { seat.own.acquire(own, false); }
  void unlock_shared(Seat& seat) { seat.own.release(); }
};

const Registered<Spin, Sleeping, Queuing> registered;

}  // namespace
}  // namespace peers
