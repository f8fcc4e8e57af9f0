// The cases of locks that ration hand-offs: those of reader-writer locks and of mutexes differ in
// their scripts alone.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "script.h"

namespace lockswap::explore {

inline bool sleeps(const std::string& lock_name) {
  return lock_name.find("/park") != std::string::npos;
}

// `oldest` makes the claim about sleepers.
template <class Script>
struct RationedScripts {
  const std::vector<Script>& few;
  const std::vector<Script>& many;  // of which executions are sampled
  const std::vector<Script>& urgent;
  const Script& oldest;
};

inline constexpr Bounds kOldestBounds{3, 0, 0, 2};
inline constexpr Bounds kOldestQuick{2, 0, 0, 1};

// `add_case(lock_name, script)` adds a case and returns it.
template <class Script, class Add>
void add_oldest(const std::string& name, const Script& oldest, const Bounds& bounds,
                const Bounds& quick_bounds, const Add& add_case) {
  const auto add = [&](const char* suffix) -> Case& {
    Case& c = add_case(name + suffix, oldest);
    c.wakes_in_order = true;
    c.bounds = bounds;
    c.quick_bounds = quick_bounds;
    return c;
  };
  add("-impatient").impatient = true;
  add("-at-once").at_once = true;
}

// The time of the thread that is next passes at any moment, or at once; and that of a lock that is
// kept for it passes, too.
template <class Script, class Add>
void add_rationed(const std::string& name, const RationedScripts<Script>& scripts,
                  const Add& add_case) {
  const auto add_all = [&](const std::vector<Script>& some, bool sampled, bool is_urgent) {
    for (const Script& s : some) {
      const auto add = [&](const char* suffix) -> Case& {
        Case& c = add_case(name + suffix, s);
        c.sampled = sampled;
        // A thread with a real-time policy may ask for the wake-up that another one has had.
        c.wakes_one_at_a_time =
            !is_urgent && std::ranges::none_of(s.threads, [](const std::string& t) {
              return t.find("fifo") != t.npos;
            });
        return c;
      };
      add("-impatient").impatient = true;
      add("-at-once").at_once = true;
      Case& back = add("-taken-back");
      back.at_once = back.impatient = back.takes_back = true;
      back.bounds.timeouts = 3;
      back.quick_bounds = {s.threads.size() > 3 ? 0 : 1, 0, 0, 2};
      if (!sleeps(name)) continue;  // nobody naps
      Case& one = add("-one-at-a-time");
      one.impatient = one.leaves_to_one = true;
      one.quick_bounds = back.quick_bounds;
    }
  };
  add_all(scripts.few, false, false);
  add_all(scripts.many, true, false);
  if (!sleeps(name)) return;  // nobody has an age, or is urgent
  add_oldest(name, scripts.oldest, kOldestBounds, kOldestQuick, add_case);
  add_all(scripts.urgent, false, true);
  for (const Script& s : scripts.urgent)
    add_case(name, s);
}

}  // namespace lockswap::explore
