#include "probes/probes.h"

namespace lockswap::probes {

int mutex_acquired(const pthread_mutex_t* m, int error) noexcept {
  if (error == 0) mutex_acquired(m);
  return error;
}
int mutex_timedlock_acquired(const pthread_mutex_t* m, int error) noexcept {
  if (error == 0) LOCKSWAP_PROBE1(mutex_timedlock_acquired, m);
  return error;
}
int rdlock_acquire_read(const pthread_rwlock_t* l, int error) noexcept {
  if (error == 0) rdlock_acquire_read(l);
  return error;
}
int wrlock_acquire_write(const pthread_rwlock_t* l, int error) noexcept {
  if (error == 0) wrlock_acquire_write(l);
  return error;
}

}  // namespace lockswap::probes
