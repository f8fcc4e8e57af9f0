#include "cases.h"

#include <algorithm>
#include <iterator>

#include "rw_cases.h"

namespace lockswap::explore {

namespace rw {
#define RW_LOCK(name, Class, header, words) void add_##Class(RwBuilder& b);
#include "registry/rw_list.def"
#undef RW_LOCK
}  // namespace rw

std::vector<Case> all_cases() {
  rw::RwBuilder b;
#define RW_LOCK(name, Class, header, words) rw::add_##Class(b);
#include "registry/rw_list.def"
#undef RW_LOCK
  std::vector<Case> cases = b.take();
  std::ranges::move(range_cases(), std::back_inserter(cases));
  add_mutex_cases(cases);
  add_block_cases(cases);
  return cases;
}

}  // namespace lockswap::explore
