#include "cases.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "rw_cases.h"

namespace lockswap::explore {

namespace rw {
#define RW_LOCK(name, Class, header, words) void add_##Class(RwBuilder& b);
#include "registry/rw_list.def"
#undef RW_LOCK
}  // namespace rw

namespace {

bool is_within(const Bounds& a, const Bounds& b, bool ever_parks, bool ever_times_out) {
  return a.preemptions <= b.preemptions && a.stale <= b.stale && a.moves <= b.moves &&
         (!ever_parks || a.spurious <= b.spurious) && (!ever_times_out || a.timeouts <= b.timeouts);
}
// The lock and its wait policy.
std::string source_of(const std::string& name) { return name.substr(0, name.rfind('/')); }

// Cases all of whose executions, of the run with each change, are among another case's.
void mark_contained(std::vector<Case>& cases) {
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

}  // namespace

std::vector<Case> all_cases() {
  rw::RwBuilder b;
#define RW_LOCK(name, Class, header, words) rw::add_##Class(b);
#include "registry/rw_list.def"
#undef RW_LOCK
  std::vector<Case> cases = b.take();
  std::ranges::move(range_cases(), std::back_inserter(cases));
  add_mutex_cases(cases);
  add_block_cases(cases);
  add_bonsai_cases(cases);
  add_ldu_cases(cases);
  add_address_space_cases(cases);
  add_rlu_cases(cases);
  mark_contained(cases);
  return cases;
}

}  // namespace lockswap::explore
