// Where the memory orders stand, and which cases come there.
#pragma once

#include <string>
#include <vector>

#include "script.h"

namespace lockswap::explore {

// A place with an order, and the cases that come there: first those that come to few places, as
// they are about this one. Its name has no line, so that it stays when lines move; places that have
// the same name are numbered from the top of the file.
struct Place {
  Mutation at;
  std::string name;
  std::vector<const Case*> cases;
};

// The places of all headers, by file and line. The cases run in `jobs` processes, at their quick
// bounds if none are given.
std::vector<Place> find_places(const std::vector<const Case*>& cases, const Bounds* bounds,
                               unsigned jobs);

}  // namespace lockswap::explore
