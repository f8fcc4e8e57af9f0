#include "multicore/explore/search.h"

#include <cstdlib>

namespace lockswap::explore {

std::string Search::replay_string() const {
  std::string out;
  for (std::size_t i = 0; i < next_ && i < trail_.size(); ++i) {
    if (trail_[i].pick == 0) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(i) + '=' + std::to_string(trail_[i].pick);
  }
  return out.empty() ? "-" : out;
}

bool Search::load(const std::string& replay) {
  restart();
  if (replay == "-") return true;
  const char* p = replay.c_str();
  while (*p != '\0') {
    char* end;
    const unsigned long at = std::strtoul(p, &end, 10);
    if (end == p || *end != '=' || at < trail_.size() || at > 100'000) return false;
    p = end + 1;
    const long pick = std::strtol(p, &end, 10);
    if (end == p || pick <= 0 || pick > 1000 || (*end != ',' && *end != '\0')) return false;
    p = *end == ',' ? end + 1 : end;
    trail_.resize(at, Choice{kUnknown, 0});
    trail_.push_back({kUnknown, static_cast<int>(pick)});
  }
  return true;
}

}  // namespace lockswap::explore
