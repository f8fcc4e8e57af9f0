#include "registry/all_names.h"

#include "config/nearest.h"
#include "platform/text.h"
#include "registry/mutexes.h"
#include "registry/range_locks.h"
#include "registry/rwlocks.h"

namespace lockswap {
namespace {

template <class Row>
const char* name_of(const Row* row) noexcept {
  return row != nullptr ? row->name : nullptr;
}

const char* find_wait(const char* name) noexcept {
  for (int i = 0; i < waits().count; ++i) {
    if (same_name(waits().rows[i].name, name)) return waits().rows[i].name;
  }
  return nullptr;
}

void put_range_locks(Text& out, const char* typed) noexcept {
  put_nearest(out, typed, range_locks().count, [](int i) { return range_locks().rows[i].name; });
  for (int i = 0; i < range_locks().count; ++i) {
    const RangeLockInfo& row = range_locks().rows[i];
    out << (i == 0 ? " " : ", ") << row.name;
    if (row.of_rwlocks) out << ", " << row.name << ":LOCK";
    for (const RangeWord& word : kRangeWords) {
      if (row.takes.*word.option) out << ", " << row.name << ":" << word.name;
    }
  }
}

}  // namespace

Names all_names() noexcept {
  return {
      .rwlocks = {"lock", rwlocks().count, [](int i) { return rwlocks().rows[i].name; },
                  [](const char* name) { return name_of(find_rwlock(name)); }},
      .mutexes = {"mutex", mutexes().count, [](int i) { return mutexes().rows[i].name; },
                  [](const char* name) { return name_of(find_mutex(name)); }},
      .waits = {"wait policy", waits().count, [](int i) { return waits().rows[i].name; },
                &find_wait},
      .range_kind = &find_range_lock,
      .put_ranges = &put_range_locks,
  };
}

}  // namespace lockswap
