// Boost's shared mutex, which is made of a mutex and condition variables of pthread.
#include <boost/thread/shared_mutex.hpp>

#include "works.h"

namespace peers {
namespace {

static_assert(HasTimeouts<boost::shared_mutex, boost::chrono::seconds>);

struct SharedMutex {
  static constexpr const char* kName = "boost";
  static constexpr const char* kType = "boost::shared_mutex";
  static constexpr Promises kPromises{.sleeps = true, .timed = true};
  using Seat = bench::NoSeat;
  boost::shared_mutex own;

  void lock(Seat&) { own.lock(); }
  void unlock(Seat&) { own.unlock(); }
  void lock_shared(Seat&) { own.lock_shared(); }
  void unlock_shared(Seat&) { own.unlock_shared(); }
};

const Registered<SharedMutex> registered;

}  // namespace
}  // namespace peers
