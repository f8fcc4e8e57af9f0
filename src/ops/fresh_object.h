// pthread_mutex_init and pthread_rwlock_init, as far as glibc does the work.
#pragma once

namespace lockswap {

// Makes the object by the system's init, elsewhere first: that refuses some attributes, and then
// the old object stays as it is. It zeroes the object and stores what the attributes ask for; none
// of it depends on the address. before: what is to be done while the old object is still there.
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
