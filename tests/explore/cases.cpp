// The cases of the explorer of all locks.
#include "cases.h"

#include <algorithm>
#include <iterator>

namespace lockswap::explore {

namespace rw {
#define RW_LOCK(name, Class, header, words) void add_##Class(Cases& cases);
#include "registry/rw_list.def"
#undef RW_LOCK
}  // namespace rw

namespace mutex {
#define MUTEX(name, Class, header, words) void add_##Class(Cases& cases);
#define MUTEX_NAME(name, Class, header, words, info)
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME
}  // namespace mutex

Cases all_cases() {
  Cases cases;
#define RW_LOCK(name, Class, header, words) rw::add_##Class(cases);
#include "registry/rw_list.def"
#undef RW_LOCK
  std::ranges::move(range_cases(), std::back_inserter(cases));
  add_cond_cases(cases);
#define MUTEX(name, Class, header, words) mutex::add_##Class(cases);
#define MUTEX_NAME(name, Class, header, words, info)
#include "registry/mutex_list.def"
#undef MUTEX
#undef MUTEX_NAME
  add_block_cases(cases);
  add_switch_cases(cases);
  mark_contained(cases);
  return cases;
}

}  // namespace lockswap::explore
