#include "ops/system_ops.h"

#include <cerrno>

#include "locks/common/events.h"
#include "stats/stats.h"

namespace lockswap {
namespace {

struct AsIs {
  static void prepare(pthread_rwlock_t*) noexcept {}
};

// Makes a lock of the default kind one of glibc's kind that prefers writers, before its first use.
// A process-shared lock is left alone, because its other users may not run under this library.
struct WritersFirst {
  static void prepare(pthread_rwlock_t* l) noexcept {
    if (kind_of(l) == PTHREAD_RWLOCK_DEFAULT_NP && !is_process_shared(l)) {
      set_kind(l, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    }
  }
};

// Counts the system's functions and their results.
template <class Kind, class Count>
struct Counted {
  template <class C>
  static int on(C call, pthread_rwlock_t* l, auto... args) noexcept {
    Count::on(l, Event::call);
    if (!InitCall<C>) Kind::prepare(l);  // before an init the bytes may be anything
    const int error = call.next(l, args...);
    if (error == 0 && InitCall<C>) Kind::prepare(l);
    if (error == 0 && LockCall<C>) Count::on(l, C::kReads ? Event::read : Event::write);
    if (error == EBUSY) Count::on(l, Event::failed_try);
    if (error == ETIMEDOUT) Count::on(l, Event::timeout);
    return error;
  }
};

template <class Kind, class Count>
constexpr RwOps counted = around<Counted<Kind, Count>, system_rwlock>;

}  // namespace

constinit const RwOps counting_system_ops = counted<AsIs, CountInTable>;
constinit const RwOps writer_preferring_ops = counted<WritersFirst, CountNothing>;
constinit const RwOps counting_writer_preferring_ops = counted<WritersFirst, CountInTable>;

}  // namespace lockswap
