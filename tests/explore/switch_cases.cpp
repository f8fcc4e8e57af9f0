// The cases of the kill switch: threads come first to an object while it is being turned, and each
// looks at it on its own. They must agree on whose the object is, from its beginning to its end.
#include <string>
#include <utility>

#include "cases.h"
#include "rw_scripts.h"
#include "switched.h"

namespace lockswap::explore {
namespace {

const rw::Scripts kScripts = {
    {"first", {"W u R u", "W u R u"}},
    {"first-3", {"W u", "R u", "W u"}},
    {"first-try", {"tryW u W u", "W u"}},
    {"first-nested", {"R R u u", "W u"}},
    {"again", {"W u W u", "R u W u"}},
    // A new lock in the place of one that was the other's.
    {"reborn", {"W u destroy init +1 W u", "?1 W u R u"}},
    // The child finds what its parent decided.
    {"first-fork", {"W u fork W u", "| W u"}},
};

void add(Cases& cases, const char* name, LockUnderTest& lock, bool reads_recursively) {
  for (const rw::Script& s : kScripts) {
    if (!reads_recursively && std::string(s.name) == "first-nested") continue;
    Case c;
    c.name = std::string(name) + "/spin/" + s.name;
    c.lock = &lock;
    c.threads = s.threads;
    c.bounds = {2, 2, 0, 0};
    c.quick_bounds = {2, 1, 0, 0};
    c.zeroed = true;
    c.may_switch_off = true;
    c.destroys = std::string(s.name) == "reborn";
    cases.push_back(std::move(c));
  }
}

}  // namespace

void add_switch_cases(Cases& cases) {
  static SwitchedRw rwlock;
  static SwitchedMutex<Existing::stays> mutex;
  add(cases, "switch-rwlock", rwlock, true);
  add(cases, "switch-mutex", mutex, false);
}

}  // namespace lockswap::explore
