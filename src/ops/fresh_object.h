// pthread_mutex_init and pthread_rwlock_init, for the part that glibc does.
#pragma once

namespace lockswap {

// Makes the object by the system's init, first in another place, because that init rejects some
// attributes, and then the old object must stay as it is. The init zeroes the object and stores the
// attributes, and nothing depends on the address. before() is called while the old object is still
// there.
template <class Object, class Attributes, class Before>
int make_fresh(Object* object, const Attributes* attributes,
               int (*init)(Object*, const Attributes*), const Before& before) noexcept {
  Object fresh;
  if (const int error = init(&fresh, attributes); error != 0) return error;
  before();
  *object = fresh;
  return 0;
}

}  // namespace lockswap
