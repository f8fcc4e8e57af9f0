// Checks that each listed lock has the members that its concept requires. Everything else that uses
// the lists is compiled after this unit (CMakeLists.txt), so a missing member is reported once, at
// the lock's own line, and not by every unit that needs it.
#include <concepts>

#include "locks/common/lock_info.h"
#include "locks/concept.h"
#include "platform/looks.h"
#include "platform/native.h"
#include "posix/rw_word.h"
#include "range/concept.h"
#include "registry/mutex_list_headers.h"  // written by lists.cmake, as the next two
#include "registry/range_list_headers.h"
#include "registry/rw_list_headers.h"
#include "wait/park.h"

namespace lockswap {
namespace {

// Looks reads the contract word without including its header.
static_assert(Looks::kDraining == RwWord<Native>::kDraining);

// What a line's words require beyond the lock's concept.
template <class Lock>
concept Described = requires {
  requires std::same_as<decltype(Lock::kInfo), const LockInfo>;
};

// NOLINTBEGIN(bugprone-macro-parentheses): a class template cannot stand in parentheses.
#define CHECK(name, Class, Concept)                   \
  static_assert(Concept<Class<Native, Park<Native>>>, \
                name " does not satisfy " #Concept " (the member is named below)");

#define RW_LOCK(name, Class, header, words) \
  CHECK(name, Class, RwCore)                \
  CHECK(name, Class, StagesAreWhole)        \
  CHECK(name, Class, Described)
#include "registry/rw_list.def"
#undef RW_LOCK

#define MUTEX(name, Class, header, words) \
  CHECK(name, Class, MutexCore)           \
  CHECK(name, Class, Described)
#define MUTEX_NAME(name, Class, header, words, info)
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME

#define RANGE_LOCK(name, Class, header) \
  CHECK(name, Class, RangeLock)         \
  CHECK(name, Class, Described)
#define RANGE_OF_RWLOCKS(name, Class, header)
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS

// NOLINTEND(bugprone-macro-parentheses)

}  // namespace
}  // namespace lockswap
