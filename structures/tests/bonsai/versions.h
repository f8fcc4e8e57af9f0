// Histories of looks at a map that one thread at a time changes, and whether an order of all
// operations explains them.
//
// The updates have an order; the state after the i-th is number i. A look must give the answer of a
// state no older than the last update that ended before it began, and no newer than the last that
// had begun when it ended, and looks that follow each other must not go back. The least state that
// will do is always the best choice, in the order in which the looks began; so this is exact, and
// takes no search (M. Herlihy, J. Wing, "Linearizability", TOPLAS 1990).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace bonsai_test {

using State = std::map<std::uint32_t, std::uint32_t>;

struct Update {
  std::uint64_t began, ended;  // by a clock of all threads, each time once
  std::uint32_t key;
  bool there;  // from then on
  std::uint32_t value;
};
enum class Kind : std::uint8_t { find, floor, ceiling, all };
struct Look {
  std::uint64_t began, ended;
  Kind kind;
  std::uint32_t key;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> got;
};

inline bool explains(const State& s, const Look& look) {
  if (look.kind == Kind::all) return State(look.got.begin(), look.got.end()) == s;
  auto at = look.kind == Kind::find ? s.find(look.key) : s.lower_bound(look.key);
  if (look.kind == Kind::floor) {
    at = s.upper_bound(look.key);
    at = at == s.begin() ? s.end() : std::prev(at);
  }
  if (at == s.end()) return look.got.empty();
  return look.got.size() == 1 && look.got[0] == std::pair{at->first, at->second};
}

// The looks that nothing explains. Updates in their order, looks in any.
inline std::size_t unexplained(State first, const std::vector<Update>& updates,
                               std::vector<Look> looks) {
  std::vector<State> states{std::move(first)};
  for (const Update& u : updates) {
    states.push_back(states.back());
    if (u.there) {
      states.back()[u.key] = u.value;
    } else {
      states.back().erase(u.key);
    }
  }
  std::ranges::sort(looks, {}, &Look::began);
  std::vector<std::pair<std::uint64_t, std::size_t>> chosen;  // when it ended, which state it was
  std::size_t wrong = 0;
  for (const Look& look : looks) {
    std::size_t low = 0;
    while (low < updates.size() && updates[low].ended < look.began)
      ++low;
    std::size_t high = low;
    while (high < updates.size() && updates[high].began < look.ended)
      ++high;
    for (const auto& [ended, state] : chosen) {
      if (ended < look.began) low = std::max(low, state);
    }
    while (low <= high && !explains(states[low], look))
      ++low;
    if (low > high) {
      ++wrong;
    } else {
      chosen.emplace_back(look.ended, low);
    }
  }
  return wrong;
}

}  // namespace bonsai_test
