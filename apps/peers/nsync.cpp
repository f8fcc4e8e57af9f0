// nsync's mutex, which readers can share.
#include <nsync.h>

#include "works.h"

namespace peers {
namespace {

struct Mutex {
  static constexpr const char* kName = "nsync";
  static constexpr const char* kType = "nsync_mu";
  static constexpr Promises kPromises{.sleeps = true};
  static constexpr bool kIsMutex = true;
  using Seat = bench::NoSeat;
  nsync::nsync_mu own = NSYNC_MU_INIT;

  void lock(Seat&) { nsync::nsync_mu_lock(&own); }
  void unlock(Seat&) { nsync::nsync_mu_unlock(&own); }
  void lock_shared(Seat&) { nsync::nsync_mu_rlock(&own); }
  void unlock_shared(Seat&) { nsync::nsync_mu_runlock(&own); }

  struct Condition {
    nsync::nsync_cv own = NSYNC_CV_INIT;

    void wait(Mutex& mutex, Seat&) { nsync::nsync_cv_wait(&own, &mutex.own); }
    void signal() { nsync::nsync_cv_signal(&own); }
    void broadcast() { nsync::nsync_cv_broadcast(&own); }
  };
};

const Registered<Mutex> registered;

}  // namespace
}  // namespace peers
