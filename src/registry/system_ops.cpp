#include "registry/system_ops.h"

#include <cerrno>

#include "locks/rw/events.h"
#include "registry/stats.h"

namespace lockswap {
namespace {

constexpr Event kNothing = Event::kCount;

// Calls the system's function and counts what came of it.
template <auto kMember, Event kSuccess>
struct Counting;

template <class... Args, int (*RwOps::*kMember)(pthread_rwlock_t*, Args...), Event kSuccess>
struct Counting<kMember, kSuccess> {
  static int call(pthread_rwlock_t* l, Args... args) noexcept {
    CountInTable::on(l, Event::call);
    const int error = (system_rwlock.*kMember)(l, args...);
    if (error == 0 && kSuccess != kNothing) CountInTable::on(l, kSuccess);
    if (error == EBUSY) CountInTable::on(l, Event::failed_try);
    if (error == ETIMEDOUT) CountInTable::on(l, Event::timeout);
    return error;
  }
};

}  // namespace

constinit const RwOps counting_system_ops{
    Counting<&RwOps::init, kNothing>::call,
    Counting<&RwOps::destroy, kNothing>::call,
    Counting<&RwOps::rdlock, Event::read>::call,
    Counting<&RwOps::tryrdlock, Event::read>::call,
    Counting<&RwOps::timedrdlock, Event::read>::call,
    Counting<&RwOps::clockrdlock, Event::read>::call,
    Counting<&RwOps::wrlock, Event::write>::call,
    Counting<&RwOps::trywrlock, Event::write>::call,
    Counting<&RwOps::timedwrlock, Event::write>::call,
    Counting<&RwOps::clockwrlock, Event::write>::call,
    Counting<&RwOps::unlock, kNothing>::call,
};

}  // namespace lockswap
