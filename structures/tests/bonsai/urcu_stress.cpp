// The stress of stress.h with liburcu's grace periods, in each of its flavours. Built as it is,
// under ThreadSanitizer and under AddressSanitizer. liburcu is called, not inlined: what the
// sanitizers find in its own words is not ours to judge.
//
//   bonsai_urcu_stress SECONDS    for each flavour and each form of the tree

#include <cstdlib>
#include <string>

#include "lockswap/urcu.hpp"
#include "stress.h"

namespace {

using namespace bonsai_test;

template <class Flavour>
bool both(const std::string& name, double seconds, void (*after_look)()) {
  using Domain = lockswap::urcu_domain<Flavour>;
  const bool good = stress<copies::path, Domain>((name + ", path").c_str(), seconds, after_look);
  return stress<copies::rotations, Domain>((name + ", rotations").c_str(), seconds, after_look) &&
         good;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  bool good = both<lockswap::urcu::memb>("memb", seconds, [] {});
  good = both<lockswap::urcu::mb>("mb", seconds, [] {}) && good;
  good = both<lockswap::urcu::bp>("bp", seconds, [] {}) && good;
  good = both<lockswap::urcu::qsbr>("qsbr", seconds, urcu_qsbr_quiescent_state) && good;
  return good ? 0 : 1;
}
