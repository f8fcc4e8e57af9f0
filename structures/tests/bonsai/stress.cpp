// The stress of stress.h with the grace periods that are lockswap's own. Built as it is, under
// ThreadSanitizer and under AddressSanitizer.
//
//   bonsai_stress SECONDS    for each form of the tree, and each of the fences
#include "stress.h"

#include <cstdlib>
#include <utility>

namespace {

using namespace bonsai_test;

// The judge itself.
bool judge_finds_mistakes() {
  const std::vector<Update> updates{{0, 1, 5, false, 0}, {2, 5, 6, false, 0}};
  const State first{{5, 1}, {6, 1}, {20, 1}};
  const auto wrong = [&](std::vector<Look> looks) {
    return unexplained(first, updates, std::move(looks));
  };
  using Got = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  return wrong({{3, 4, Kind::floor, 10, Got{{6, 1}}}, {6, 7, Kind::floor, 10, {}}}) == 0 &&
         wrong({{3, 4, Kind::floor, 10, Got{{5, 1}}}}) == 1 &&  // the example
         wrong({{6, 7, Kind::find, 6, Got{{6, 1}}}}) == 1 &&
         wrong({{3, 4, Kind::find, 6, {}}, {4, 6, Kind::find, 6, {}}}) == 0 &&
         wrong({{3, 4, Kind::find, 6, {}}, {5, 6, Kind::find, 6, Got{{6, 1}}}}) == 1 &&  // back
         wrong({{6, 7, Kind::all, 0, Got{{20, 1}}}}) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  if (!judge_finds_mistakes()) {
    std::puts("the judge of histories is wrong");
    return 1;
  }
  using lockswap::fences;
  using Domain = lockswap::quiescence<>;
  const auto run = [&]<copies kCopies>(const char* name, fences f) {
    return stress<kCopies, Domain>(
        name, seconds, [] {}, f);
  };
  bool good = run.operator()<copies::path>("path", fences::asymmetric);
  good = run.operator()<copies::rotations>("rotations", fences::asymmetric) && good;
  good = run.operator()<copies::path>("path, full fences", fences::full) && good;
  good = run.operator()<copies::rotations>("rotations, full fences", fences::full) && good;
  return good ? 0 : 1;
}
