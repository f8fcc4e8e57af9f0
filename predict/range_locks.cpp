// The range locks of range_list.def on the modelled machine. Those that are made of reader-writer
// locks can't run there: their code locks pthread objects.
#include "predict/array.h"
#include "registry/range_list_headers.h"  // written by src/lists.cmake
#include "wait/spin.h"

namespace lockswap::predict {

AllOperated all_range_locks() {
  AllOperated all;
// NOLINTBEGIN(bugprone-macro-parentheses): a class template cannot stand in parentheses.
#define RANGE_LOCK(name, Class, header) \
  add<LockedArray<Class<cost::Modelled, Spin<cost::Modelled>>>>(all, name, "range");
// NOLINTEND(bugprone-macro-parentheses)
#define RANGE_OF_RWLOCKS(name, Class, header)
#include "registry/range_list.def"
#undef RANGE_LOCK
#undef RANGE_OF_RWLOCKS
  return all;
}

}  // namespace lockswap::predict
