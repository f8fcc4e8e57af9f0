// Planted faults. A mutation changes what one place of the library's source does while it runs, and
// leaves the source alone. The place is identified by file, function, operation and declared order,
// so that it is found again after other lines have moved, or by line in the automatic search.
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>
#include <unordered_set>
#include <vector>

#include "platform/atomic.h"

namespace lockswap::explore {

#if defined(__cpp_lib_source_location)
using Site = std::source_location;
#else
// For linters built on a clang that has no source_location yet: enough to compile.
class Site {
 public:
  static constexpr Site current(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                unsigned line = __builtin_LINE()) {
    Site s;
    s.file_ = file;
    s.function_ = function;
    s.line_ = line;
    return s;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr const char* function_name() const { return function_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return 0; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  unsigned line_ = 0;
};
#endif

enum class Op : std::uint8_t {
  load,
  store,
  exchange,
  compare_exchange,
  fetch_add,
  fetch_sub,
  fetch_or,
  fetch_and,
  await,       // the load that ends a wait
  scan_enter,  // P::scan's first fence
  scan_leave,  // and its last
  fence,
  wake,
};
const char* name_of(Op op);
const char* name_of(Order order);
// Whether the path ends with that file: "a/rw/cohort.h" is "rw/cohort.h", and not "hort.h".
bool is_file(const char* path, const char* name);

struct Mutation {
  enum Kind { weaken, force_value, drop };

  const char* name;
  const char* file;      // "bravo.h", or with as many folders as necessary: "rw/cohort.h"
  const char* function;  // "publish"
  Op op;
  Order declared;
  Kind kind;
  Order order = relaxed;    // for weaken: the new order
  std::uint64_t value = 0;  // for force_value: what a load returns
  unsigned line = 0;        // if not 0: exactly this place
  unsigned column = 0;

  bool at(Op o, Order order_there, const Site& s) const;
};

// The places that executions reach and that have an order, each as what would weaken it.
class Sites {
 public:
  void add(Op op, Order order, const Site& site);
  const std::vector<Mutation>& all() const { return all_; }

 private:
  std::vector<Mutation> all_;
  std::unordered_set<std::uint64_t> known_;  // hashes, so that most visits cost little
};

}  // namespace lockswap::explore
