// Which cases need not run, because a larger one contains them.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cases.h"

namespace lockswap::explore {
namespace {

bool is_within(const Bounds& a, const Bounds& b, bool ever_parks, bool ever_times_out) {
  return a.preemptions <= b.preemptions && a.stale <= b.stale && a.moves <= b.moves &&
         (!ever_parks || a.spurious <= b.spurious) && (!ever_times_out || a.timeouts <= b.timeouts);
}
// The lock and its wait policy.
std::string source_of(const std::string& name) { return name.substr(0, name.rfind('/')); }

}  // namespace

void mark_contained(Cases& cases) {
  std::map<std::pair<std::string, std::vector<std::string>>, std::vector<Case*>> alike;
  for (Case& c : cases) {
    if (!c.sampled && !c.threads.empty()) alike[{source_of(c.name), c.threads}].push_back(&c);
  }
  for (const auto& [key, group] : alike) {
    const bool parks = !key.first.ends_with("/spin");
    const bool times_out = std::ranges::any_of(key.second, [](const std::string& thread) {
      return thread.find("timed") != std::string::npos;
    });
    for (Case* c : group) {
      c->in_larger = std::ranges::any_of(group, [&](const Case* other) {
        return other != c && !other->in_larger &&
               is_within(c->quick_bounds, other->quick_bounds, parks, times_out);
      });
    }
  }
}

}  // namespace lockswap::explore
