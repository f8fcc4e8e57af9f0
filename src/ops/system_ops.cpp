#include "ops/system_ops.h"

#include <cerrno>
#include <type_traits>

#include "locks/common/events.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

constexpr Event kNothing = Event::kCount;

struct AsIs {
  static void prepare(pthread_rwlock_t*) noexcept {}
};

// A lock of the default kind becomes one of glibc's kind that prefers writers, before its first
// use. A process-shared lock stays what it is: its other users may not run under this library.
struct WritersFirst {
  static void prepare(pthread_rwlock_t* l) noexcept {
    if (kind_of(l) == PTHREAD_RWLOCK_DEFAULT_NP && !is_process_shared(l)) {
      set_kind(l, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    }
  }
};

// Calls the system's function and counts its result.
template <class Kind, class Count, auto kMember, Event kSuccess>
struct Through;

template <class Kind, class Count, class... Args,
          int (*RwOps::*kMember)(pthread_rwlock_t*, Args...), Event kSuccess>
struct Through<Kind, Count, kMember, kSuccess> {
  static int call(pthread_rwlock_t* l, Args... args) noexcept {
    Count::on(l, Event::call);
    constexpr bool kIsInit = (std::is_same_v<Args, const pthread_rwlockattr_t*> || ...);
    if (!kIsInit) Kind::prepare(l);  // what init finds there may be anything
    const int error = (system_rwlock.*kMember)(l, args...);
    if (error == 0 && kIsInit) Kind::prepare(l);
    if (error == 0 && kSuccess != kNothing) Count::on(l, kSuccess);
    if (error == EBUSY) Count::on(l, Event::failed_try);
    if (error == ETIMEDOUT) Count::on(l, Event::timeout);
    return error;
  }
};

template <class Kind, class Count>
constexpr RwOps through{
    Through<Kind, Count, &RwOps::init, kNothing>::call,
    Through<Kind, Count, &RwOps::destroy, kNothing>::call,
    Through<Kind, Count, &RwOps::rdlock, Event::read>::call,
    Through<Kind, Count, &RwOps::tryrdlock, Event::read>::call,
    Through<Kind, Count, &RwOps::timedrdlock, Event::read>::call,
    Through<Kind, Count, &RwOps::clockrdlock, Event::read>::call,
    Through<Kind, Count, &RwOps::wrlock, Event::write>::call,
    Through<Kind, Count, &RwOps::trywrlock, Event::write>::call,
    Through<Kind, Count, &RwOps::timedwrlock, Event::write>::call,
    Through<Kind, Count, &RwOps::clockwrlock, Event::write>::call,
    Through<Kind, Count, &RwOps::unlock, kNothing>::call,
};

}  // namespace

constinit const RwOps counting_system_ops = through<AsIs, CountInTable>;
constinit const RwOps writer_preferring_ops = through<WritersFirst, CountNothing>;
constinit const RwOps counting_writer_preferring_ops = through<WritersFirst, CountInTable>;

}  // namespace lockswap
