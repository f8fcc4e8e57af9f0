// What a thread waits for, as a predicate on an atom's value. The wait policies take it by
// reference, so they are compiled once per size of atom and not once per predicate.
#pragma once

#include "platform/function_ref.h"

namespace lockswap {

template <class Atom>
using PredicateOn = FunctionRef<bool(typename Atom::value_type)>;

}  // namespace lockswap
